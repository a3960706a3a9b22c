"""Solve: problem in, verdict out. Every answer is verified, and "infeasible" is cross-checked before it is returned."""

import logging
import math
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from typing import TypeVar

from warpwright.solver.device.limits import WARP_THREADS
from warpwright.solver.domain.schedule import WarpSchedule
from warpwright.solver.domain.verdict import (
    Feasible,
    Infeasible,
    ProvenOptimal,
    Unknown,
    Verdict,
)
from warpwright.solver.engines import Budget, EngineResult, EngineStatus
from warpwright.solver.engines import engine as engine_named
from warpwright.solver.engines.latest_value import Latest
from warpwright.solver.warp.bounds import lower_bounds
from warpwright.solver.warp.certify import account_of, certificate_of, certificate_with
from warpwright.solver.warp.conflicts import conflicts
from warpwright.solver.warp.decode import decode
from warpwright.solver.warp.encoding import WarpEncoding, declare
from warpwright.solver.warp.fallback_schedules import baselines
from warpwright.solver.warp.families import FAMILIES
from warpwright.solver.warp.layout.role_placement import leaves_the_store_open
from warpwright.solver.warp.objective import objectives
from warpwright.solver.warp.placements import moved, with_store_role
from warpwright.solver.warp.problem import CONSUMER, WarpProblem
from warpwright.solver.warp.schedule_reader import Reading
from warpwright.solver.warp.settled import steps_late_of
from warpwright.solver.warp.timing import loop_times
from warpwright.solver.warp.verify import violations

__all__ = ["build_model", "build_rules", "solve", "starting_point"]

log = logging.getLogger("warpwright.solver.warp.solve")

MOST_MOVED = 8
"""Placements beside the rule's that a search may try."""

Progress = Callable[[Feasible], None]


def build_model(problem: WarpProblem) -> WarpEncoding:
    """The complete model of a problem: variables, every family under its label, objectives."""
    enc = build_rules(problem)
    enc.model.minimize(*objectives(enc))
    return enc


def build_rules(problem: WarpProblem, *, bounded: bool = True) -> WarpEncoding:
    """The model of a problem without objectives: any legal schedule is an answer.

    ``bounded`` False leaves out what arithmetic knows about the intervals: a search over such a model proves it again.
    """
    known = lower_bounds(problem) if bounded else {}
    enc = declare(problem, {scope: found[0].cycles for scope, found in known.items()})
    for family in FAMILIES:
        if family.NAME not in problem.relaxed:
            with enc.model.family(family.NAME):
                family.build(enc)
    return enc


def solve(
    problem: WarpProblem,
    *,
    engine: str = "cpsat",
    budget: Budget | None = None,
    progress: Progress | None = None,
) -> Verdict:
    """The best schedule of a problem under the objective's levels, with its certificate.

    Every width is searched at once. If no pin decides who stores and a loop contains stores, both placements are solved and the
    better one is the answer. Other placements are tried as long as a lower bound says that they could be shorter.

    Args:
        problem: A closed problem.
        engine: Name of an engine of :mod:`warpwright.solver.engines`.
        budget: Deterministic work first, wall clock as the backstop.
        progress: Gets better and better verified schedules while the search runs, from a thread of its own and as
            fast as it accepts them, so that a killed solve leaves its best one.
    """
    limits = budget or Budget()
    ends_at = time.monotonic() + limits.wall_seconds
    best = _solve_placed(problem, engine, limits, progress)
    if leaves_the_store_open(problem):
        best = _better_of(problem, best, _also(problem, with_store_role(problem), engine, limits, best, progress))
    return _moved(problem, best, engine, limits, ends_at, progress)


def _also(
    problem: WarpProblem, given: WarpProblem, engine: str, limits: Budget, best: Verdict, progress: Progress | None
) -> Verdict:
    """The verdict on a placement of a problem, as one on the problem; only what is better than ``best`` is told."""
    worst = _worth(problem, best)

    def better(found: Feasible) -> None:
        told = _certified_for(problem, found)
        if progress is not None and _worth(problem, told) < worst:
            progress(told)

    return _certified_for(problem, _solve_placed(given, engine, limits, better if progress else None))


def _moved(
    problem: WarpProblem, best: Verdict, engine: str, limits: Budget, ends_at: float, progress: Progress | None
) -> Verdict:
    """The best schedule with one operation in another role, if its main loop is shorter.

    Most placements cannot be: their own lower bound is not below the interval, or a bound of every schedule is met already.
    """
    scope = best.certificate.scope if isinstance(best, ProvenOptimal | Feasible) else None
    if scope is None or scope.within_pins:
        return best
    spent, undecided = 0, list[str]()
    for what, other in islice(moved(problem), MOST_MOVED):
        interval = _interval(best)
        left = replace(limits, work_limit=limits.work_limit - spent, wall_seconds=ends_at - time.monotonic())
        bounds = next(iter(lower_bounds(other).values()))
        if bounds[0].cycles >= interval:
            continue
        if left.work_limit <= 0 or left.wall_seconds <= 0:
            undecided.append(what)
            continue
        found = _also(problem, other, engine, left, best, progress)
        spent += found.certificate.work if isinstance(found, ProvenOptimal | Feasible) else 0
        undecided += [] if isinstance(found, ProvenOptimal | Infeasible) else [what]
        best = found if _interval(found) < interval else best
    return _with_undecided(problem, best, tuple(undecided))


def _interval(verdict: Verdict) -> float:
    found = verdict.certificate.initiation_interval_cycles if isinstance(verdict, ProvenOptimal | Feasible) else None
    return math.inf if found is None else found


Solved = TypeVar("Solved", bound=Verdict)


def _certified_for(problem: WarpProblem, verdict: Solved) -> Solved:
    """The verdict of a more pinned problem as a verdict on this one."""
    if isinstance(verdict, ProvenOptimal | Feasible):
        assert isinstance(verdict.schedule, WarpSchedule)
        account = account_of(verdict.certificate)
        return replace(verdict, certificate=certificate_with(problem, verdict.schedule, account))
    return verdict


def _worth(problem: WarpProblem, verdict: Verdict) -> tuple[float, ...]:
    """Sort key of schedules, as the objective's levels; lower is better."""
    if not isinstance(verdict, ProvenOptimal | Feasible) or not isinstance(verdict.schedule, WarpSchedule):
        return (math.inf,)
    schedule = verdict.schedule
    reading = Reading(problem, schedule)
    times = loop_times(reading)
    widths = [role.warps for role in schedule.roles if role.name == CONSUMER]
    kept = float(widths != [problem.graph.threads // WARP_THREADS])
    total = sum(time.length for time in times)
    late = steps_late_of(reading)
    numbers = (late, verdict.certificate.on_chip_bytes, total, verdict.certificate.synchronisations)
    intervals = [float(time.interval) for time in times]
    return (*intervals[:1], kept, *intervals[1:], *numbers)


def _better_of(problem: WarpProblem, first: Verdict, second: Verdict) -> Verdict:
    """The better schedule of stores in the consumer and of stores in their own role; the first one if they are equal. What was
    not decided is named.
    """
    names = ("stores in the consumer", "stores in their own role")
    other = second
    if _worth(problem, second) < _worth(problem, first):
        first, other, names = second, first, (names[1], names[0])
    if isinstance(first, ProvenOptimal | Feasible) and not isinstance(other, ProvenOptimal | Infeasible):
        return _with_undecided(problem, first, names[1:])
    return other if isinstance(first, Infeasible) and isinstance(other, Unknown) else first


def _with_undecided(problem: WarpProblem, verdict: Solved, placements: tuple[str, ...]) -> Solved:
    """The same verdict, which says that the budget ended before these placements were decided."""
    if not placements or not isinstance(verdict, ProvenOptimal | Feasible):
        return verdict
    assert isinstance(verdict.schedule, WarpSchedule)
    account = account_of(verdict.certificate)
    undecided = tuple(dict.fromkeys((*account.undecided, *placements)))
    told = replace(account, undecided=undecided)
    return replace(verdict, certificate=certificate_with(problem, verdict.schedule, told))


def _solve_placed(problem: WarpProblem, engine: str, limits: Budget, progress: Progress | None) -> Verdict:
    """The best schedule with the placement that the problem's pins and the rule give."""
    solver = engine_named(engine)
    enc = build_model(problem)

    def improved(values: tuple[int, ...]) -> None:
        schedule = decode(enc, values)
        if progress is not None and not violations(problem, schedule):
            partial = EngineResult(EngineStatus.FEASIBLE, values, (), (), (), 0, "still searching")
            progress(
                Feasible(schedule, certificate_of(problem, schedule, partial, solver.name, solver.version, limits))
            )

    if progress is None:
        result = solver.solve(enc.model, limits, starting_point(enc))
    else:
        # Engines improve in small steps: reading and verifying every step would take longer than the search.
        with Latest(improved) as latest:
            result = solver.solve(enc.model, limits, starting_point(enc), on_solution=latest.offer)
    if result.status is EngineStatus.INFEASIBLE:
        return _infeasible(problem, enc, result, engine)
    if result.values is None:
        return Unknown(result.reason, engine, result.work)
    schedule = decode(enc, result.values)
    broken = violations(problem, schedule)
    if broken:
        log.error("%s answered with a schedule that breaks %s: %s", engine, broken[0].rule, broken[0].message)
        return Unknown(f"the answer broke {broken[0].words}", engine, result.work)
    certificate = certificate_of(problem, schedule, result, solver.name, solver.version, limits)
    proven = result.status is EngineStatus.OPTIMAL or (
        certificate.initiation_interval_cycles is not None and certificate.gap_cycles == 0
    )
    return ProvenOptimal(schedule, certificate) if proven else Feasible(schedule, certificate)


def starting_point(enc: WarpEncoding) -> list[int | None]:
    """A start assignment from which a search finds its first schedule at once: source order, no stage offsets, no overlap."""
    values: list[int | None] = [None] * len(enc.model.variables)
    for scope in enc.loops:
        values[enc.interval[scope.id].index] = enc.interval[scope.id].hi
    for literal in enc.before.values():
        values[literal.var.index] = 1
    for stages in enc.stage_is.values():
        for stage, literal in stages.items():
            values[literal.var.index] = int(stage == 0)
    return values


def _infeasible(problem: WarpProblem, enc: WarpEncoding, result: EngineResult, engine: str) -> Verdict:
    """The conflicts of a core; withheld if a schedule that the verifier accepts contradicts it (OR-Tools issue 3842)."""
    for schedule in baselines(problem):
        if not violations(problem, schedule):
            log.error("%s called a problem infeasible that has a verified schedule; digest %s", engine, problem.digest)
            reason = "the engine says infeasible, but the verifier accepts a simple schedule: answer withheld"
            return Unknown(reason, engine, result.work)
    return Infeasible(conflicts(problem, enc, result.core), engine)
