"""Solve: problem in, verdict out. Every answer is verified, and "infeasible" is cross-checked before it is returned."""

import logging
import math
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from warpwright.solver.device.limits import WARP_THREADS
from warpwright.solver.domain.pins import Pins
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
from warpwright.solver.warp.problem import CONSUMER, WarpProblem
from warpwright.solver.warp.schedule_reader import Reading
from warpwright.solver.warp.settled import steps_late_of
from warpwright.solver.warp.timing import loop_times
from warpwright.solver.warp.verify import violations

__all__ = ["build_model", "build_rules", "solve", "starting_point"]

log = logging.getLogger("warpwright.solver.warp.solve")

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

    If no pin decides who stores and a loop contains stores, both placements are solved and the better one is the answer.

    Args:
        problem: A closed problem.
        engine: Name of an engine of :mod:`warpwright.solver.engines`.
        budget: Deterministic work first, wall clock as the backstop.
        progress: Gets better and better verified schedules while the search runs, from a thread of its own and as
            fast as it accepts them, so that a killed solve leaves its best one.
    """
    first = _solve_placed(problem, engine, budget or Budget(), progress)
    if not leaves_the_store_open(problem):
        return first
    given = problem.with_pins(Pins(store_role=True))
    worst = _worth(problem, first)

    def better(found: Feasible) -> None:
        told = _certified_for(problem, found)
        if progress is not None and _worth(problem, told) < worst:
            progress(told)

    second = _certified_for(problem, _solve_placed(given, engine, budget or Budget(), better if progress else None))
    return _better_of(problem, first, second)


Solved = TypeVar("Solved", bound=Verdict)


def _certified_for(problem: WarpProblem, verdict: Solved) -> Solved:
    """The verdict of a more pinned problem as a verdict on this one."""
    if isinstance(verdict, ProvenOptimal | Feasible):
        assert isinstance(verdict.schedule, WarpSchedule)
        account = account_of(verdict.certificate)
        return replace(verdict, certificate=certificate_with(problem, verdict.schedule, account))
    return verdict


def _worth(problem: WarpProblem, verdict: Verdict) -> tuple[float, ...]:
    """Sort key of schedules: width kept, intervals, steps late, bytes, lengths, synchronisations; lower is better."""
    if not isinstance(verdict, ProvenOptimal | Feasible) or not isinstance(verdict.schedule, WarpSchedule):
        return (math.inf,)
    schedule = verdict.schedule
    reading = Reading(problem, schedule)
    times = loop_times(reading)
    widths = [role.warps for role in schedule.roles if role.name == CONSUMER]
    kept = float(widths != [problem.graph.threads // WARP_THREADS])
    total = sum(time.length for time in times)
    late = steps_late_of(reading)
    numbers = (*(time.interval for time in times), late, verdict.certificate.on_chip_bytes, total)
    return (kept, *numbers, verdict.certificate.synchronisations)


def _better_of(problem: WarpProblem, first: Verdict, second: Verdict) -> Verdict:
    """The better schedule of two placements; proven only if both are decided. The first one if they are equal."""
    best, other = (second, first) if _worth(problem, second) < _worth(problem, first) else (first, second)
    if isinstance(best, ProvenOptimal) and not isinstance(other, ProvenOptimal | Infeasible):
        assert isinstance(best.schedule, WarpSchedule)
        account = replace(account_of(best.certificate), proven=False)
        return Feasible(best.schedule, certificate_with(problem, best.schedule, account))
    if isinstance(best, Infeasible) and isinstance(other, Unknown):
        return other
    return best


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
        return Unknown(
            f"the answer broke {broken[0].family}/{broken[0].rule}: {broken[0].message}", engine, result.work
        )
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
