"""Reads the plan back from generated CUDA source: what the code really does, whatever was requested.

Only the forms that TileLang 0.1.15 prints are known (``src/cuda/codegen/codegen_cuda.cc``); a form that is missing reads as None
or as an empty mapping, never as the planned value.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["ReadBack", "read_back"]

_BOUNDS = re.compile(r"__launch_bounds__\((\d+)(?:,\s*(\d+))?\)")
_FULL = re.compile(r"uint64_t (\w+)_full_mem\[(\d+)\]")
_EMPTY = re.compile(r"uint64_t (\w+)_empty_mem\[(\d+)\]")
_SETMAXNREG = re.compile(r"tl::warpgroup_reg_(alloc|dealloc)<(\d+)>\(\)")
_BRANCH = re.compile(r"if \(+(?:\(int\))?threadIdx\.x\)? < (\d+)\)")


@dataclass(frozen=True, slots=True)
class ReadBack:
    """The numbers in the source. ``branch_threads`` are the thread thresholds of the role branches, in order of appearance.

    ``register_requests`` holds (direction, registers) of every setmaxnreg; ``depths`` the barrier count of every pipeline.
    """

    threads: int | None
    min_blocks: int | None
    depths: Mapping[str, int]
    empty_depths: Mapping[str, int]
    register_requests: tuple[tuple[str, int], ...]
    branch_threads: tuple[int, ...]
    uses_wgmma: bool = False


def read_back(source: str) -> ReadBack:
    """Reads one kernel's CUDA source."""
    bounds = _BOUNDS.search(source)
    return ReadBack(
        threads=int(bounds.group(1)) if bounds else None,
        min_blocks=int(bounds.group(2)) if bounds and bounds.group(2) else None,
        depths={match.group(1): int(match.group(2)) for match in _FULL.finditer(source)},
        empty_depths={match.group(1): int(match.group(2)) for match in _EMPTY.finditer(source)},
        register_requests=tuple((match.group(1), int(match.group(2))) for match in _SETMAXNREG.finditer(source)),
        branch_threads=tuple(int(match.group(1)) for match in _BRANCH.finditer(source)),
        uses_wgmma="tl::wgmma_" in source,
    )
