"""One more try where the assembler cannot allocate at a kernel's register limit (C7600): at the next lower legal one.

nvcc ignores ``-maxrregcount`` for kernels with launch bounds, and refuses them beside ``__maxnreg__`` (13.0.88), so the bounds of
such a kernel give way to it; a ``setmaxnreg`` is kept under either.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from warpwright.lowering.compile.build import Built
from warpwright.lowering.compile.readback import ReadBack
from warpwright.lowering.outcome import StepOutcome
from warpwright.solver.device.limits import WARPGROUP, WARPGROUP_THREADS
from warpwright.solver.device.registers import budgets
from warpwright.solver.domain.schedule import WarpSchedule

__all__ = ["CAPPED", "Retry", "build_with_retry", "lower_cap"]

ALLOCATION_FAILED = "register_allocation_failed"
CAPPED = "register_cap_lowered"
"""Detail of an outcome whose binary was built with a lower limit than the schedule has."""

UNIT = 8
"""Registers a thread: register files are given out 256 registers a warp on every architecture from sm_70 to sm_120."""


_COUNT = re.compile(r"register count of '(\d+)'")
_BOUNDS = re.compile(r"__launch_bounds__\(\d+(?:,\s*\d+)?\)")


@dataclass(frozen=True, slots=True)
class Retry:
    """A second build: the limit that it was given, and what the first one said."""

    registers: int
    because: str


def lower_cap(failure: StepOutcome | None) -> int | None:
    """The next lower limit a thread after a failed allocation; None for any other failure, or when there is none lower."""
    if failure is None or ALLOCATION_FAILED not in failure.details:
        return None
    found = _COUNT.search(failure.message)
    cap = (int(found.group(1)) - 1) // UNIT * UNIT if found else 0
    return cap or None


def build_with_retry(
    launcher: str, build: Callable[[str], Built], plan: WarpSchedule | None, found: ReadBack, threads: int
) -> tuple[Built, Retry | None]:
    """Builds a launcher, and once more with a lower limit where that can help and cannot harm.

    The second build's failure keeps the first one's message, so that nothing is lost.
    """
    first = build(launcher)
    cap = lower_cap(first.failure)
    if first.failure is None or cap is None or not _BOUNDS.search(launcher) or not _holds(plan, found, cap, threads):
        return first, None
    retry = Retry(cap, first.failure.message)
    second = build(_BOUNDS.sub(f"__maxnreg__({cap})", launcher))
    if second.failure is not None:
        message = f"{first.failure.message}; once more with {cap} registers a thread: {second.failure.message}"
        details = tuple(dict.fromkeys((*first.failure.details, *second.failure.details)))
        second = replace(second, failure=replace(second.failure, message=message, details=details))
    return replace(second, seconds=first.seconds + second.seconds), retry


def _holds(plan: WarpSchedule | None, found: ReadBack, cap: int, threads: int) -> bool:
    """Whether the registers that a block has at launch under the lower limit still cover what its roles ask for.

    A ``setmaxnreg`` beyond them waits for registers that nobody gives back: the kernel would hang.
    """
    if not found.register_requests:
        return True
    if plan is None:
        return False
    held = budgets(plan.roles, -(-threads // WARPGROUP_THREADS) * WARPGROUP)
    return sum(budget or cap for budget in held) <= cap * len(held)
