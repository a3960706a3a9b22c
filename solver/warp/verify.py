"""The verifier: every rule in plain Python, on any schedule, without an engine.

It runs on each schedule before it leaves the solver, on stored ones, and on schedules from elsewhere. It shares the rules'
statements with the search, but none of the search's code.
"""

from warpwright.solver.device.limits import WARPGROUP
from warpwright.solver.domain.kernel import KernelGraph
from warpwright.solver.domain.pins import Pins
from warpwright.solver.domain.profile import HardwareProfile
from warpwright.solver.domain.schedule import WarpSchedule
from warpwright.solver.domain.verdict import Bound, Violation
from warpwright.solver.warp.bounds import lower_bounds
from warpwright.solver.warp.families import FAMILIES, STRUCTURAL
from warpwright.solver.warp.placements import as_placed
from warpwright.solver.warp.problem import CONSUMER, WarpProblem, close_problem
from warpwright.solver.warp.schedule_reader import Reading

__all__ = ["bounds_of", "verify", "violations"]


def verify(
    graph: KernelGraph, profile: HardwareProfile, schedule: WarpSchedule, pins: Pins | None = None
) -> tuple[Violation, ...]:
    """Every rule that a schedule breaks on this kernel and device; empty when it is legal.

    Raises:
        NotApplicable: the kernel or the device has no warp schedules.
        ProfileError: the profile lacks a number that every schedule depends on.
    """
    return violations(close_problem(graph, profile, pins), schedule)


def violations(problem: WarpProblem, schedule: WarpSchedule) -> tuple[Violation, ...]:
    """As :func:`verify`, on a closed problem.

    The first families decide whether the schedule belongs to this kernel at all; if not, the others would only
    repeat that.
    """
    reading = Reading(problem, schedule)
    found: list[Violation] = []
    for number, family in enumerate(FAMILIES):
        if number == STRUCTURAL and found:
            break
        if family.NAME not in problem.relaxed:
            found += family.check(reading)
    return tuple(found)


def bounds_of(problem: WarpProblem, schedule: WarpSchedule) -> tuple[Bound, ...]:
    """Bounds of the main loop's interval for schedules with this width and placement; none for a kernel without loops."""
    widths = [role.warps // WARPGROUP for role in schedule.roles if role.name == CONSUMER]
    placed = as_placed(Reading(problem, schedule))
    return () if placed is None else next(iter(lower_bounds(placed, widths[0] if widths else None).values()), ())
