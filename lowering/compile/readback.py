"""Reads the plan back from generated CUDA source: what the code really does, whatever was requested.

Only the forms that TileLang 0.1.15 prints are known (``src/cuda/codegen/codegen_cuda.cc``); a form that is missing reads as None
or as an empty mapping, never as the planned value.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from warpwright.lowering.compile.thread_ranges import Range, scopes_of
from warpwright.solver.device.limits import WARPGROUP_THREADS

__all__ = ["ReadBack", "RegisterRequest", "read_back"]

_BOUNDS = re.compile(r"__launch_bounds__\((\d+)(?:,\s*(\d+))?\)")
_FULL = re.compile(r"uint64_t (\w+)_full_mem\[(\d+)\]")
_EMPTY = re.compile(r"uint64_t (\w+)_empty_mem\[(\d+)\]")
_SETMAXNREG = re.compile(r"tl::warpgroup_reg_(alloc|dealloc)<(\d+)>\(\)")
_BRANCH = re.compile(r"if \(+(?:\(int\))?threadIdx\.x\)? < (\d+)\)")

LARGEST_BLOCK = 1024
"""Threads, where the source has no launch bounds."""


@dataclass(frozen=True, slots=True)
class RegisterRequest:
    """One setmaxnreg: its direction (``alloc``, ``dealloc``), the registers per thread, and the threads that may reach it."""

    direction: str
    registers: int
    threads: Range


@dataclass(frozen=True, slots=True)
class ReadBack:
    """The numbers in the source. ``branch_threads`` are the thread thresholds of the role branches, in order of appearance.

    ``register_requests`` holds every setmaxnreg; ``depths`` the barrier count of every pipeline.
    """

    threads: int | None
    min_blocks: int | None
    depths: Mapping[str, int]
    empty_depths: Mapping[str, int]
    register_requests: tuple[RegisterRequest, ...]
    branch_threads: tuple[int, ...]
    uses_wgmma: bool = False
    uses_tcgen05: bool = False

    def held(self, threads: int, entry: int) -> tuple[int, ...]:
        """Registers per thread that each warpgroup of a block asks for, at its largest request; ``entry`` where it has none.

        Empty if the code requests nothing.
        """
        if not self.register_requests:
            return ()
        asked = []
        for first in range(0, threads, WARPGROUP_THREADS):
            group = Range(first, first + WARPGROUP_THREADS)
            inside = [r.registers for r in self.register_requests if _meets(r.threads, group)]
            asked.append(max(inside, default=entry))
        return tuple(asked)


def read_back(source: str) -> ReadBack:
    """Reads one kernel's CUDA source."""
    bounds = _BOUNDS.search(source)
    threads = int(bounds.group(1)) if bounds else None
    return ReadBack(
        threads=threads,
        min_blocks=int(bounds.group(2)) if bounds and bounds.group(2) else None,
        depths={match.group(1): int(match.group(2)) for match in _FULL.finditer(source)},
        empty_depths={match.group(1): int(match.group(2)) for match in _EMPTY.finditer(source)},
        register_requests=tuple(_requests(source, threads or LARGEST_BLOCK)),
        branch_threads=tuple(int(match.group(1)) for match in _BRANCH.finditer(source)),
        uses_wgmma="tl::wgmma_" in source,
        uses_tcgen05="tl::tcgen05mma_" in source,
    )


def _requests(source: str, threads: int) -> Iterator[RegisterRequest]:
    if _SETMAXNREG.search(source) is None:
        return
    for start, end, reached in scopes_of(source, threads):
        for match in _SETMAXNREG.finditer(source, start, end):
            yield RegisterRequest(match.group(1), int(match.group(2)), reached)


def _meets(one: Range, other: Range) -> bool:
    both = one.within(other)
    return both.first < both.end
