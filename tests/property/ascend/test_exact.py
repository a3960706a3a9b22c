"""The exact search against enumeration of every start, on tiny problems that use every kind of constraint."""

import random

import pytest

from tests.property.ascend.enumeration import best_at, best_straight, random_loop, random_straight
from warpwright.solver.ascend.answer import Answer
from warpwright.solver.ascend.families import check_answer
from warpwright.solver.ascend.optimise import Limits, optimise_loop, optimise_straight
from warpwright.solver.ascend.solve import solve_problem

COMPLETE = Limits(interval=10**6, bytes=10**6, length=10**6)


def _compare(seed: int) -> None:
    problem = random_loop(random.Random(seed))
    optimum = optimise_loop(problem, COMPLETE)
    assert optimum.proven
    interval = optimum.interval if optimum.interval is not None else 6
    if interval > (5 if problem.tasks == 4 else 7):
        return
    if optimum.plan is None:
        assert all(best_at(problem, ii) is None for ii in range(max(1, *problem.iis), interval + 1)), seed
        return
    answer = Answer(interval, optimum.plan.starts, optimum.plan.versions)
    assert check_answer(problem, answer) == []
    for smaller in range(max(1, *problem.iis), interval):
        assert best_at(problem, smaller) is None, (seed, smaller)
    if max(optimum.plan.starts) // interval <= 3:
        found = (problem.bytes_of(optimum.plan.versions), optimum.length)
        assert best_at(problem, interval) == found, seed


@pytest.mark.parametrize("block", range(4))
def test_interval_bytes_and_length_are_the_enumerated_optimum(block: int) -> None:
    for seed in range(block * 15, block * 15 + 15):
        _compare(seed)


@pytest.mark.slow
def test_more_seeds() -> None:
    for seed in range(1000, 1400):
        _compare(seed)


def test_feasible_intervals_are_closed_upwards() -> None:
    """The theorem that lets one infeasible interval exclude all smaller ones (docs/decisions/0050)."""
    for seed in range(40):
        problem = random_loop(random.Random(seed))
        if problem.tasks > 3:
            continue
        feasible = [best_at(problem, ii) is not None for ii in range(1, 7)]
        assert feasible == sorted(feasible), seed


def test_straight_lists_reach_the_enumerated_makespan() -> None:
    for seed in range(40):
        problem = random_straight(random.Random(seed))
        optimum = optimise_straight(problem, COMPLETE)
        horizon = 7 if problem.tasks > 3 else 11
        best = best_straight(problem, horizon)
        if best is not None and best <= horizon:
            assert optimum.proven
            assert optimum.length == best, seed


@pytest.mark.parametrize("engine", ["cpsat", "z3"])
def test_other_engines_agree(engine: str) -> None:
    for seed in range(12):
        problem = random_loop(random.Random(seed))
        ours, other = solve_problem(problem, budget=COMPLETE), solve_problem(problem, engine=engine)
        assert other.proven, seed
        if ours.answer is None:
            assert other.answer is None, seed
            continue
        assert other.answer is not None, seed
        assert (other.answer.interval, other.bytes) == (ours.answer.interval, ours.bytes), seed
        if other.length_proven:
            assert other.length == ours.length, seed


def test_the_same_problem_gives_the_same_answer() -> None:
    problem = random_loop(random.Random(7))
    first, second = solve_problem(problem), solve_problem(problem)
    assert (first.answer, first.work) == (second.answer, second.work)
