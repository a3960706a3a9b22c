"""Solving a modulo problem: arithmetic bounds first, then the bound itself, then every interval above it in one search.

1. Reasons for infeasibility that hold for every interval are found without an engine.
2. The interval equal to the largest lower bound is tried, by the constructive search, under guesses of the groups, and
   jointly; a schedule there is optimal, no search below is needed.
3. Otherwise one model with the interval as a variable is minimised; its bound excludes every smaller interval at once, so
   nothing is assumed about feasibility being monotone in the interval.
4. At the interval found, the schedule is shortened, then its memory peaks and hand-offs are reduced.

The search ends at :func:`longest_interval`: in a longer one, some cycle of the interval is idle for everything and can be cut
out, so a problem without a schedule up to there has none. Every schedule is replayed before it is returned.
"""

from dataclasses import dataclass

from warpwright.solver.domain.verdict import Bound, Conflict
from warpwright.solver.engines import Budget, engine
from warpwright.solver.modulo.bounds import impossible, lower_bounds
from warpwright.solver.modulo.builder import CONSTRUCTIVE, VERSION
from warpwright.solver.modulo.conflicts import conflicts_of
from warpwright.solver.modulo.least import ARITHMETIC, Least, least_interval
from warpwright.solver.modulo.polish import polish as polished
from warpwright.solver.modulo.problem import ModuloProblem, ModuloSchedule
from warpwright.solver.modulo.run import SearchCall, SearchRun

__all__ = ["ModuloAnswer", "longest_interval", "solve"]


@dataclass(frozen=True, slots=True)
class ModuloAnswer:
    """The schedule that was found, and what was proven.

    ``status`` is ``proven_optimal`` (the interval is minimal), ``feasible``, ``infeasible`` or ``unknown``. ``bound`` is
    the largest proven lower bound of the interval, ``bounds`` those found by arithmetic. ``length_proven`` says that no
    schedule of this interval is shorter.

    ``engine`` says who found the interval: an engine, or ``constructive`` (:mod:`warpwright.solver.modulo.construct`);
    without a schedule it is the engine that was asked. ``proven_by`` says what excludes smaller intervals, or all:
    ``arithmetic`` or an engine; empty if nothing is proven. ``polished_by`` is the engine that replaced the schedule by
    a better one of its interval.
    """

    status: str
    schedule: ModuloSchedule | None
    bound: Bound
    bounds: tuple[Bound, ...]
    length_proven: bool
    conflicts: tuple[Conflict, ...]
    attempts: tuple[SearchCall, ...]
    engine: str
    engine_version: str
    reason: str = ""
    proven_by: str = ""
    polished_by: str = ""


def solve(
    problem: ModuloProblem,
    *,
    engine_name: str = "cpsat",
    budget: Budget | None = None,
    polish: bool = True,
    constructive: bool = True,
) -> ModuloAnswer:
    """The least interval of a problem, proven if the budget allows.

    Args:
        problem: A checked problem (:func:`warpwright.solver.modulo.document.parse_problem`).
        engine_name: ``cpsat``, ``z3`` or ``enumerate``.
        budget: Work first, wall time as a second limit; the same budget gives the same answer.
        polish: Also shorten the schedule and reduce its memory peaks and hand-offs at the interval found.
        constructive: Also search constructively; without it the engine finds every schedule itself.

    Raises:
        warpwright.solver.modulo.run.UnverifiedScheduleError: the engine's schedule failed the replay.
    """
    run = SearchRun(engine(engine_name), budget or Budget())
    bounds = lower_bounds(problem)
    conflicts = impossible(problem)
    if conflicts:
        return _answer(run, "infeasible", Least(bounds[0], proven_by=ARITHMETIC), bounds, conflicts=conflicts)
    high = max(longest_interval(problem), bounds[0].cycles)
    least = least_interval(run, problem, bounds[0], high, constructive=constructive)
    if least.schedule is None and not least.reason:
        least.proven_by = run.engine.name
        return _answer(run, "infeasible", least, bounds, conflicts=conflicts_of(run, problem, bounds[0].cycles, high))
    if least.schedule is None:
        return _answer(run, "unknown", least, bounds)
    better, length_proven = polished(run, problem, least.schedule) if polish else (least.schedule, False)
    polished_by = run.engine.name if better is not least.schedule else ""
    status = "proven_optimal" if least.met() else "feasible"
    least.schedule = better
    return _answer(run, status, least, bounds, length_proven=length_proven, polished_by=polished_by)


def longest_interval(problem: ModuloProblem) -> int:
    """An interval that is long enough for anything: all executions, uses, latencies and holds one after the other.

    In a schedule with a longer interval some phase is in none of them. Removing it from every copy shortens the
    interval by one cycle and breaks nothing: no execution is cut, no order changes, lifetimes only become shorter.
    """
    total = 1
    for op in problem.ops:
        total += 1 + max([op.cycles, *(use.offset + use.cycles for use in op.uses)])
    for edge in problem.edges:
        total += edge.latency + edge.hold + problem.op(edge.source).spill_cycles
    return total


def _answer(
    run: SearchRun,
    status: str,
    least: Least,
    bounds: tuple[Bound, ...],
    *,
    length_proven: bool = False,
    conflicts: tuple[Conflict, ...] = (),
    polished_by: str = "",
) -> ModuloAnswer:
    proven = status in ("proven_optimal", "infeasible")
    built = least.found_by == CONSTRUCTIVE
    return ModuloAnswer(
        status,
        least.schedule,
        least.bound,
        bounds,
        length_proven,
        conflicts,
        tuple(run.attempts),
        CONSTRUCTIVE if built else run.engine.name,
        VERSION if built else run.engine.version,
        "" if proven else least.reason,
        least.proven_by if proven else "",
        polished_by,
    )
