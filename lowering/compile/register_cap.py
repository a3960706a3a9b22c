"""A second attempt if the assembler cannot allocate at a kernel's register limit (C7600): at the next lower legal one.

nvcc ignores ``-maxrregcount`` for kernels with launch bounds, and refuses them together with ``__maxnreg__``
(13.0.88), so the bounds of such a kernel are replaced by it; a ``setmaxnreg`` is kept under both.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from warpwright.lowering.compile.build import BuildResult
from warpwright.lowering.compile.readback import ReadBack
from warpwright.lowering.outcome import StepOutcome
from warpwright.solver.device.registers import pool_excess

__all__ = ["CAPPED", "Retry", "build_with_retry", "lower_cap"]

ALLOCATION_FAILED = "register_allocation_failed"
CAPPED = "register_cap_lowered"
"""Detail of an outcome whose binary was built with a lower limit than the schedule's."""

UNIT = 8
"""Registers per thread: registers are allocated in units of 256 per warp on every architecture from sm_70 to sm_120."""


_COUNT = re.compile(r"register count of '(\d+)'")
_BOUNDS = re.compile(r"__launch_bounds__\(\d+(?:,\s*\d+)?\)")


@dataclass(frozen=True, slots=True)
class Retry:
    """A second build: its limit, and the message of the first one."""

    registers: int
    because: str


def lower_cap(failure: StepOutcome | None) -> int | None:
    """The next lower limit per thread after a failed allocation; None for any other failure, or if there is no lower one."""
    if failure is None or ALLOCATION_FAILED not in failure.details:
        return None
    found = _COUNT.search(failure.message)
    cap = (int(found.group(1)) - 1) // UNIT * UNIT if found else 0
    return cap or None


def build_with_retry(
    launcher: str, build: Callable[[str], BuildResult], found: ReadBack, threads: int
) -> tuple[BuildResult, Retry | None]:
    """Builds a launcher, and once more with a lower limit if that can help and cannot harm: under it, the registers of a block
    must still cover what its warpgroups request.

    The second build's failure keeps the first one's message, so that nothing is lost.
    """
    first = build(launcher)
    cap = lower_cap(first.failure)
    if (
        first.failure is None
        or cap is None
        or not _BOUNDS.search(launcher)
        or pool_excess(found.held(threads, cap), cap)
    ):
        return first, None
    retry = Retry(cap, first.failure.message)
    second = build(_BOUNDS.sub(f"__maxnreg__({cap})", launcher))
    if second.failure is not None:
        message = f"{first.failure.message}; second attempt with {cap} registers per thread: {second.failure.message}"
        details = tuple(dict.fromkeys((*first.failure.details, *second.failure.details)))
        second = replace(second, failure=replace(second.failure, message=message, details=details))
    return replace(second, seconds=first.seconds + second.seconds), retry
