"""Solving a modulo problem: arithmetic bounds first, then the bound itself, then every interval above it in one search.

1. Reasons that no interval can cure are found without an engine.
2. The interval equal to the largest lower bound is tried, under guesses of the groups and then jointly; a schedule there
   is optimal, no search below is needed.
3. Otherwise one model with the interval as a variable is minimised; its bound excludes every smaller interval at once, so
   nothing is assumed about feasibility being monotone in the interval.
4. At the interval found, the schedule is shortened, then its memory peaks and hand-offs are reduced.

The search ends at :func:`longest_interval`: above it some cycle of the interval is idle for everything and can be cut
out, so a problem without a schedule up to there has none. Every schedule is replayed before it is returned.
"""

import time
from dataclasses import dataclass, replace

from solver.domain.verdict import Bound, Conflict
from solver.engines import Budget, EngineResult, EngineStatus, engine
from solver.modulo.bounds import impossible, lower_bounds
from solver.modulo.guess import guesses
from solver.modulo.polish import polish as polished
from solver.modulo.problem import ModuloProblem, ModuloSchedule
from solver.modulo.run import Attempt, Run, checked, encode

__all__ = ["ModuloAnswer", "longest_interval", "solve"]

GUESS_WORK = 60
"""Work for the timing under one guess of the groups in the first round; it doubles every round."""
ROUND_WORK = 120
"""Work of the first short joint search; it doubles every second round."""
ROUNDS = 5
UPPER_PARTS = (64, 16, 4, 2, 1)
"""Which fractions above the bound are probed for some schedule when the bound itself has none."""
SEARCHED = "search: every smaller interval excluded"


@dataclass(frozen=True, slots=True)
class ModuloAnswer:
    """What was found and what was proven.

    ``status`` is ``proven_optimal`` (the interval is minimal), ``feasible``, ``infeasible`` or ``unknown``. ``bound`` is
    the largest proven lower bound of the interval, ``bounds`` those found by arithmetic. ``length_proven`` says that no
    schedule of this interval is shorter.
    """

    status: str
    schedule: ModuloSchedule | None
    bound: Bound
    bounds: tuple[Bound, ...]
    length_proven: bool
    conflicts: tuple[Conflict, ...]
    attempts: tuple[Attempt, ...]
    engine: str
    engine_version: str
    reason: str = ""


def solve(
    problem: ModuloProblem, *, engine_name: str = "cpsat", budget: Budget | None = None, polish: bool = True
) -> ModuloAnswer:
    """The least interval of a problem, proven where the budget allows.

    Args:
        problem: A checked problem (:func:`solver.modulo.document.parse_problem`).
        engine_name: ``cpsat``, ``z3`` or ``enumerate``.
        budget: Work first, wall clock as the backstop; twice the same budget gives twice the same answer.
        polish: Also shorten the schedule and reduce its memory peaks and hand-offs at the interval found.

    Raises:
        solver.modulo.run.UnverifiedScheduleError: the engine's schedule failed the replay.
    """
    run = Run(engine(engine_name), budget or Budget())
    bounds = lower_bounds(problem)
    conflicts = impossible(problem)
    if conflicts:
        return _answer(run, "infeasible", None, bounds[0], bounds, conflicts=conflicts)
    high = max(longest_interval(problem), bounds[0].cycles)
    schedule, bound, reason = _least_interval(run, problem, bounds[0], high)
    if schedule is None and not reason:
        core = _core(run, problem, bounds[0].cycles, high)
        return _answer(run, "infeasible", None, bound, bounds, conflicts=core)
    if schedule is None:
        return _answer(run, "unknown", None, bound, bounds, reason=reason)
    proven = schedule.interval == bound.cycles
    length_proven = False
    if polish:
        schedule, length_proven = polished(run, problem, schedule)
    status = "proven_optimal" if proven else "feasible"
    return _answer(run, status, schedule, bound, bounds, length_proven=length_proven, reason=reason)


def longest_interval(problem: ModuloProblem) -> int:
    """An interval that is long enough for anything: all executions, uses, latencies and holds one after the other.

    In a schedule with a longer interval some phase lies in none of them. Taking it out of every copy shortens the
    interval by one cycle and breaks nothing: no need is cut, no order changes, lives only get shorter.
    """
    total = 1
    for op in problem.ops:
        total += 1 + max([op.cycles, *(use.offset + use.cycles for use in op.uses)])
    for edge in problem.edges:
        total += edge.latency + edge.hold + problem.op(edge.source).spill_cycles
    return total


def _least_interval(
    run: Run, problem: ModuloProblem, first: Bound, high: int
) -> tuple[ModuloSchedule | None, Bound, str]:
    """Schedule, proven bound and why the search ended early; no schedule and no reason means proven infeasible."""
    found, result, pinned = _at_the_bound(run, problem, first.cycles)
    if found is not None:
        return found, first, ""
    bound = first
    if result.status is EngineStatus.INFEASIBLE:
        bound = Bound(first.cycles + 1, f"{first.reason} excluded by search")
    if bound.cycles > high:
        return None, bound, ""
    best = _some_schedule(run, [*pinned[:1], problem], bound.cycles, high)
    if best is not None and best.interval == bound.cycles:
        return best, bound, ""
    if run.over:
        return best, bound, "the budget ended before every smaller interval was excluded"
    wide = encode(problem, bound.cycles, best.interval - 1 if best else high)
    wide.model.minimize(wide.interval)
    result = run.ask(wide, run.left)
    if result.bounds and result.bounds[0] > bound.cycles:
        bound = Bound(result.bounds[0], SEARCHED)
    if result.values is not None:
        return checked(problem, wide.schedule(result.values)), bound, result.reason
    if result.status is EngineStatus.INFEASIBLE and best is not None:
        bound = Bound(best.interval, SEARCHED)
    return best, bound, "" if result.status is EngineStatus.INFEASIBLE else result.reason


def _at_the_bound(
    run: Run, problem: ModuloProblem, interval: int
) -> tuple[ModuloSchedule | None, EngineResult, list[ModuloProblem]]:
    """A schedule of this interval, the joint search's last word, and the guesses that were not refuted.

    Guesses and the joint model take turns with growing limits and new seeds: the time to a first schedule varies tenfold
    with the seed, and which of them is easy differs from problem to problem.
    """
    pinned = list(guesses(problem, interval, run.engine, run.budget.seed))
    models = [encode(guess, interval, interval) for guess in pinned]
    joint = encode(problem, interval, interval)
    result = EngineResult(EngineStatus.UNKNOWN, None, (), (), (), 0, "the budget ended before the first search")
    for restart in range(ROUNDS):
        for index in reversed(range(len(pinned))):
            if run.over:
                return None, result, pinned
            result = run.ask(models[index], GUESS_WORK << restart, quick=True, restart=restart)
            if result.values is not None:
                return checked(problem, models[index].schedule(result.values)), result, pinned
            if result.status is EngineStatus.INFEASIBLE:
                del pinned[index], models[index]
        result = run.ask(joint, ROUND_WORK << restart // 2, quick=True, restart=restart)
        if result.values is not None:
            return checked(problem, joint.schedule(result.values)), result, pinned
        if result.status is EngineStatus.INFEASIBLE or run.over:
            break
    return None, result, pinned


def _some_schedule(run: Run, forms: list[ModuloProblem], low: int, high: int) -> ModuloSchedule | None:
    """A schedule at one of a few intervals above the bound, so that the search over all of them has a near end."""
    for part in UPPER_PARTS:
        interval = low + low // part
        if interval > high or run.over:
            break
        for form in forms:
            encoding = encode(form, interval, interval)
            result = run.ask(encoding, ROUND_WORK, quick=True)
            if result.values is not None:
                return checked(forms[-1], encoding.schedule(result.values))
    return None


def _core(run: Run, problem: ModuloProblem, low: int, high: int) -> tuple[Conflict, ...]:
    """The families that clash, from a labelled solve over all intervals."""
    encoding = encode(problem, low, high)
    budget = replace(run.budget, wall_seconds=max(run.ends_at - time.monotonic(), 0.1))
    result = run.engine.solve(encoding.model, budget)
    message = f"no interval from {low} to {high} within {problem.max_stages} stages satisfies these families together"
    return tuple(Conflict(family, message) for family in result.core or ("dependence",))


def _answer(
    run: Run,
    status: str,
    schedule: ModuloSchedule | None,
    bound: Bound,
    bounds: tuple[Bound, ...],
    *,
    length_proven: bool = False,
    conflicts: tuple[Conflict, ...] = (),
    reason: str = "",
) -> ModuloAnswer:
    attempts = tuple(run.attempts)
    name, version = run.engine.name, run.engine.version
    return ModuloAnswer(status, schedule, bound, bounds, length_proven, conflicts, attempts, name, version, reason)
