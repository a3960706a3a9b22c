"""The exact search against enumeration of every start, on tiny problems that use every kind of constraint."""

import json
import random
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from tests.property.solver.ascend.enumeration import best_at, best_straight, random_loop, random_straight
from tests.property.solver.disagreement import Disagreement, disagree
from tests.unit.solver.ascend.families.boundaries import ring
from warpwright.solver.ascend import modelled
from warpwright.solver.ascend.answer import SchedulerAnswer
from warpwright.solver.ascend.families import FAMILIES, build_network, check_answer
from warpwright.solver.ascend.optimise import NodeLimits, optimise_loop, optimise_straight
from warpwright.solver.ascend.problem import LoopProblem, problem_from_call
from warpwright.solver.ascend.solve import UnverifiedAnswer, solve_problem

COMPLETE = NodeLimits(interval=10**6, bytes=10**6, length=10**6)


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
    answer = SchedulerAnswer(interval, optimum.plan.starts, optimum.plan.versions)
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
        _same_optimum(random_loop(random.Random(seed)), engine)


def _same_optimum(problem: LoopProblem, engine: str) -> None:
    different = _differences(problem, engine)
    if different:
        families = [name for name, without in WITHOUT.items() if not _differences(without(problem), engine)]
        told = f"{'; '.join(different)}; families it takes: {', '.join(families) or 'more than one'}"
        disagree("ascend-call", _call(problem), told)


def _differences(problem: LoopProblem, engine: str) -> list[str]:
    """Levels on which the exact search and an engine differ."""
    try:
        ours, other = solve_problem(problem, budget=COMPLETE), solve_problem(problem, engine=engine)
    except UnverifiedAnswer as error:
        return [str(error)]
    levels = [
        ("proven", True, other.proven),
        ("interval", ours.answer and ours.answer.interval, other.answer and other.answer.interval),
        ("bytes", ours.bytes, other.bytes),
        ("length", ours.length, other.length if other.length_proven else ours.length),
    ]
    return [f"{level}: the exact search {mine}, {engine} {theirs}" for level, mine, theirs in levels if mine != theirs]


WITHOUT: dict[str, Callable[[LoopProblem], LoopProblem]] = {
    "dependence": lambda p: replace(p, data_deps=tuple(row for row in p.data_deps if row[2] < 0)),
    "buffer_versions": lambda p: replace(p, data_deps=tuple(row for row in p.data_deps if row[2] >= 0)),
    "pipe_exclusion": lambda p: replace(p, resource_deps=()),
    "owner_exclusion": lambda p: replace(p, owner_exclusion_deps=()),
    "offset_window": lambda p: replace(p, enable_offset=True),
    "stage_order": lambda p: replace(p, stage_order_deps=()),
    "manual_stages": lambda p: replace(p, pipe_order_deps=(), manual_stages=(), manual_schedule=False),
    "memory_capacity": lambda p: replace(p, memory_groups=()),
}
"""The problem with nothing in it for one family to ask."""


def test_every_family_can_be_left_out() -> None:
    assert set(WITHOUT) == {family.NAME for family in FAMILIES}


def test_a_disagreement_names_the_level_and_the_family_and_writes_the_call(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Forced: the engine is told that the loop has one stage, so that it may keep one version only."""
    monkeypatch.setenv("WARPWRIGHT_TEST_DISAGREEMENTS", str(tmp_path))
    problem = ring().problem
    assert isinstance(problem, LoopProblem)
    _same_optimum(problem, "cpsat")
    monkeypatch.setattr(
        modelled,
        "build_network",
        lambda problem: build_network(replace(problem, num_stages=1)),
    )
    with pytest.raises(
        Disagreement, match=r"interval: the exact search 10, cpsat 20.*families it takes: .*buffer_versions"
    ):
        _same_optimum(problem, "cpsat")
    (path,) = tmp_path.iterdir()
    assert problem_from_call(json.loads(path.read_text())) == problem


def _call(problem: LoopProblem) -> dict[str, Any]:
    """The problem in the hook's form, as ``solve_call`` takes it: a group is its limit and its buffers."""
    groups = [[group.limit_bytes, *group.buffers] for group in problem.memory_groups]
    return {"kind": "loop", **asdict(problem), "memory_groups": groups}


def test_the_same_problem_gives_the_same_answer() -> None:
    problem = random_loop(random.Random(7))
    first, second = solve_problem(problem), solve_problem(problem)
    assert (first.answer, first.work) == (second.answer, second.work)
