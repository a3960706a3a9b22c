"""Answers to scheduler calls: solve, verify, and say what is proven.

Engine ``exact`` (the default) is the search of :mod:`warpwright.solver.ascend.search`; ``cpsat`` and ``z3`` are second
opinions over the same constraints. Whatever the engine, an answer is checked by the families' plain arithmetic before
it is returned.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from warpwright.solver.ascend.answer import SchedulerAnswer, recomputed_versions
from warpwright.solver.ascend.families import check_answer
from warpwright.solver.ascend.optimise import NodeLimits, Optimum, optimise_loop, optimise_straight
from warpwright.solver.ascend.problem import LoopProblem, Problem, problem_from_call
from warpwright.solver.domain import Bound, Violation, WarpwrightError

__all__ = ["ENGINES", "CallResult", "UnverifiedAnswer", "solve_call", "solve_problem"]

ENGINES = ("exact", "cpsat", "z3")


class UnverifiedAnswer(WarpwrightError):
    """An engine's answer broke a rule: a bug in Warpwright; the answer is never returned."""

    code = "answer-not-verified"


@dataclass(frozen=True, slots=True)
class CallResult:
    """The outcome of one call.

    ``answer`` is None when no schedule exists (``proven``) or none was found (not ``proven``). ``proven`` speaks of the
    interval of a loop or the makespan of a straight-line list; bytes and length have their own flags.
    """

    problem: Problem
    answer: SchedulerAnswer | None
    engine: str
    proven: bool
    lower_bound: Bound
    bounds: tuple[Bound, ...]
    bytes: int
    bytes_proven: bool
    length: int
    length_proven: bool
    work: int
    seconds: float


def solve_call(call: Mapping[str, Any], *, engine: str = "exact", budget: NodeLimits | None = None) -> CallResult:
    """Solve one scheduler call given as JSON values (see :func:`warpwright.solver.ascend.problem.problem_from_call`)."""
    return solve_problem(problem_from_call(call), engine=engine, budget=budget)


def solve_problem(problem: Problem, *, engine: str = "exact", budget: NodeLimits | None = None) -> CallResult:
    """Solve one problem.

    Args:
        problem: A loop body or a straight-line list.
        engine: ``exact``, ``cpsat`` or ``z3``.
        budget: Work limits of the levels; the engines take the interval's as their work limit.

    Raises:
        ValueError: unknown engine.
        UnverifiedAnswer: the engine's answer breaks a rule.
    """
    if engine not in ENGINES:
        raise ValueError(f"there is no engine {engine!r}; choose one of {', '.join(ENGINES)}")
    begin = time.perf_counter()
    limits = budget or NodeLimits()
    optimum = _run(problem, engine, limits)
    answer = _answer(problem, optimum)
    if answer is not None:
        violations = check_answer(problem, answer)
        if violations:
            raise UnverifiedAnswer(_first(violations), place=violations[0].place)
    return _result(problem, optimum, answer, engine, time.perf_counter() - begin)


def _run(problem: Problem, engine: str, limits: NodeLimits) -> Optimum:
    if engine == "exact":
        return (
            optimise_loop(problem, limits) if isinstance(problem, LoopProblem) else optimise_straight(problem, limits)
        )
    from warpwright.solver.ascend.modelled import optimise_straight_with_engine, optimise_with_engine
    from warpwright.solver.engines import Budget

    budget = Budget(work_limit=limits.interval // 6, wall_seconds=limits.interval / 3000)
    if isinstance(problem, LoopProblem):
        return optimise_with_engine(problem, engine, budget)
    return optimise_straight_with_engine(problem, engine, budget)


def _answer(problem: Problem, optimum: Optimum) -> SchedulerAnswer | None:
    if optimum.plan is None:
        return None
    starts = optimum.plan.starts
    if isinstance(problem, LoopProblem) and optimum.interval is not None:
        whole = min(starts) // optimum.interval * optimum.interval
        starts = tuple(s - whole for s in starts)
        return SchedulerAnswer(optimum.interval, starts, recomputed_versions(problem, optimum.interval, starts))
    return SchedulerAnswer(None, tuple(s - min(starts) for s in starts))


def _result(
    problem: Problem, optimum: Optimum, answer: SchedulerAnswer | None, engine: str, seconds: float
) -> CallResult:
    best = max(optimum.bounds, key=lambda b: b.cycles, default=Bound(0, "none"))
    used = problem.bytes_of(answer.versions) if answer and isinstance(problem, LoopProblem) else 0
    return CallResult(
        problem,
        answer,
        engine,
        optimum.proven,
        best,
        optimum.bounds,
        used,
        optimum.bytes_proven,
        answer.length(problem) if answer else 0,
        optimum.length_proven,
        optimum.work,
        seconds,
    )


def _first(violations: list[Violation]) -> str:
    first = violations[0]
    return f"{first.family}: {first.message} ({len(violations)} in all)"
