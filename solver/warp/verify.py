"""The verifier: every rule in plain Python, on any schedule, without an engine.

It runs on each schedule before it leaves the solver, on stored ones, and on schedules from elsewhere. It shares the rules'
statements with the search, but none of the search's code.
"""

from warpwright.solver.device.limits import WARPGROUP
from warpwright.solver.device.shared_memory import block_bytes
from warpwright.solver.domain.kernel import KernelGraph
from warpwright.solver.domain.pins import Pins
from warpwright.solver.domain.profile import HardwareProfile
from warpwright.solver.domain.schedule import Sync, WarpSchedule
from warpwright.solver.domain.verdict import Bound, Certificate, Violation
from warpwright.solver.warp.bounds import lower_bounds
from warpwright.solver.warp.families import FAMILIES, STRUCTURAL
from warpwright.solver.warp.problem import CONSUMER, STORE, WarpProblem, close_problem
from warpwright.solver.warp.schedule_reader import Reading
from warpwright.solver.warp.timing import loop_times

__all__ = ["bounds_of", "check_certificate", "expected", "verify", "verify_certificate", "violations"]


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


def verify_certificate(
    graph: KernelGraph,
    profile: HardwareProfile,
    schedule: WarpSchedule,
    certificate: Certificate,
    pins: Pins | None = None,
) -> tuple[Violation, ...]:
    """Checks a stored certificate without a solver: rules, digests, times, bytes and bound are computed again.

    A bound whose reason starts with ``search:`` is an engine's own proof; it is checked for consistency, not re-proven.
    """
    return check_certificate(close_problem(graph, profile, pins), schedule, certificate)


def check_certificate(problem: WarpProblem, schedule: WarpSchedule, certificate: Certificate) -> tuple[Violation, ...]:
    """As :func:`verify_certificate`, on a closed problem."""
    found = list(violations(problem, schedule))
    if found:
        return tuple(found)
    claims = expected(problem, schedule)
    stated = {
        "profile_digest": certificate.profile_digest,
        "problem_digest": certificate.problem_digest,
        "constraint_set": certificate.constraint_set,
        "initiation_interval_cycles": certificate.initiation_interval_cycles,
        "schedule_length_cycles": certificate.schedule_length_cycles,
        "on_chip_bytes": certificate.on_chip_bytes,
        "synchronisations": certificate.synchronisations,
    }
    for name, value in stated.items():
        if value != claims[name]:
            message = f"the certificate says {name} is {value}, the schedule gives {claims[name]}"
            found.append(Violation("certificate", "claim-differs", message, name))
    found += _check_bound(problem, schedule, certificate)
    return tuple(found)


def expected(problem: WarpProblem, schedule: WarpSchedule) -> dict[str, object]:
    """The values of a true certificate of this schedule."""
    reading = Reading(problem, schedule)
    times = loop_times(reading)
    entries = [instruction for body in reading.bodies.values() for instruction in body]
    return {
        "profile_digest": problem.profile_digest,
        "problem_digest": problem.digest,
        "constraint_set": problem.constraint_set,
        "initiation_interval_cycles": times[0].interval if times else None,
        "schedule_length_cycles": times[0].length if times else 0,
        "on_chip_bytes": block_bytes(problem.graph, schedule),
        "synchronisations": sum(isinstance(entry, Sync) for entry in entries),
    }


def bounds_of(problem: WarpProblem, schedule: WarpSchedule) -> tuple[Bound, ...]:
    """Bounds of the main loop's interval for schedules with this width and these roles; none for a kernel without loops."""
    widths = [role.warps // WARPGROUP for role in schedule.roles if role.name == CONSUMER]
    if problem.pins.store_role is None and any(role.name == STORE for role in schedule.roles):
        problem = problem.with_pins(Pins(store_role=True))
    by_loop = lower_bounds(problem, widths[0] if widths else None)
    return next(iter(by_loop.values()), ())


def _check_bound(problem: WarpProblem, schedule: WarpSchedule, certificate: Certificate) -> list[Violation]:
    found: list[Violation] = []
    interval, bound = certificate.initiation_interval_cycles, certificate.lower_bound
    if interval is None:
        return found
    if certificate.gap_cycles != interval - bound.cycles or certificate.gap_cycles < 0:
        message = f"gap {certificate.gap_cycles} is not interval {interval} minus bound {bound.cycles}"
        found.append(Violation("certificate", "gap", message))
    if not bound.reason.startswith("search:"):
        known = {b.reason: b.cycles for b in bounds_of(problem, schedule)}
        if known.get(bound.reason) != bound.cycles:
            message = f"bound {bound.cycles} by {bound.reason} cannot be reproduced"
            found.append(Violation("certificate", "bound", message, bound.reason))
    return found
