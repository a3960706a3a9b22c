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
from warpwright.solver.device.limits import WARPGROUP, WARPGROUP_THREADS
from warpwright.solver.device.registers import budgets
from warpwright.solver.domain.schedule import WarpSchedule

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
    launcher: str, build: Callable[[str], BuildResult], plan: WarpSchedule | None, found: ReadBack, threads: int
) -> tuple[BuildResult, Retry | None]:
    """Builds a launcher, and once more with a lower limit if that can help and cannot harm.

    The second build's failure keeps the first one's message, so that nothing is lost.
    """
    first = build(launcher)
    cap = lower_cap(first.failure)
    if first.failure is None or cap is None or not _BOUNDS.search(launcher) or not _holds(plan, found, cap, threads):
        return first, None
    retry = Retry(cap, first.failure.message)
    second = build(_BOUNDS.sub(f"__maxnreg__({cap})", launcher))
    if second.failure is not None:
        message = f"{first.failure.message}; second attempt with {cap} registers per thread: {second.failure.message}"
        details = tuple(dict.fromkeys((*first.failure.details, *second.failure.details)))
        second = replace(second, failure=replace(second.failure, message=message, details=details))
    return replace(second, seconds=first.seconds + second.seconds), retry


def _holds(plan: WarpSchedule | None, found: ReadBack, cap: int, threads: int) -> bool:
    """Whether the registers that a block has at launch under the lower limit still cover what its roles request.

    A ``setmaxnreg`` above them waits for registers that nobody releases: the kernel would hang.
    """
    if not found.register_requests:
        return True
    if plan is None:
        return False
    held = budgets(plan.roles, -(-threads // WARPGROUP_THREADS) * WARPGROUP)
    return sum(budget or cap for budget in held) <= cap * len(held)
