"""Cycles of a whole kernel, by hand: trips, prologue, nested loops, waves, and what is not known."""

from dataclasses import replace

import pytest

from tests.unit.solver.ascend.kernels import graph_with
from warpwright.solver.ascend.problem import LoopProblem, StraightProblem
from warpwright.solver.ascend.total_bound import least_length, total_bound
from warpwright.solver.ascend.total_cycles import total_cycles, waves
from warpwright.solver.domain import ROOT, KernelGraph, LoopSchedule, Memory, Op, Scope, ScopeKind
from warpwright.solver.profiles import load_profile

PROFILE = load_profile("ascend950")
FLAT = graph_with({"x": (Memory.UB, 64)})


def loop(scope: str, interval: int | None, length: int) -> LoopSchedule:
    return LoopSchedule(scope, interval, length, ())


def nested(trips: tuple[int | None, int | None]) -> KernelGraph:
    """A loop ``i`` with a task and a loop ``k`` of one task in it."""
    task = FLAT.ops[0]
    scopes = (
        Scope(ROOT, ScopeKind.ROOT, None, 1, ("i",)),
        Scope("i", ScopeKind.SERIAL, ROOT, trips[0], ("k", "store"), 2),
        Scope("k", ScopeKind.SERIAL, "i", trips[1], ("task",), 2),
    )
    ops: tuple[Op, ...] = (task, replace(task, id="store", scope="i"))
    return replace(FLAT, ops=ops, scopes=scopes)


def test_a_loop_pays_its_interval_for_every_trip_but_one_and_its_length_once() -> None:
    assert total_cycles(FLAT, PROFILE, {"k": loop("k", 10, 25)}) == 7 * 10 + 25


def test_a_nested_loop_counts_through_the_outer_ones_interval() -> None:
    graph = nested((3, 5))
    assert total_cycles(graph, PROFILE, {"k": loop("k", 10, 12), "i": loop("i", 60, 75)}) == 2 * 60 + 75


def test_a_straight_list_of_the_root_is_its_makespan() -> None:
    root = replace(FLAT.scopes[0], items=("k", "task"))
    graph = replace(FLAT, scopes=(root, FLAT.scopes[1]))
    assert total_cycles(graph, PROFILE, {"k": loop("k", 10, 25), ROOT: loop(ROOT, None, 333)}) == 333


@pytest.mark.parametrize("trips", [(None, 5), (3, None)])
def test_without_a_trip_count_there_is_no_total(trips: tuple[int | None, int | None]) -> None:
    assert total_cycles(nested(trips), PROFILE, {"k": loop("k", 10, 12), "i": loop("i", 60, 75)}) is None


def test_blocks_beyond_the_cores_run_in_further_waves() -> None:
    """72 vector cores; a kernel with cube memory has the 36 cube cores."""
    assert waves(replace(FLAT, grid=(72,)), PROFILE) == 1
    assert waves(replace(FLAT, grid=(73,)), PROFILE) == 2
    cube = graph_with({"x": (Memory.L1, 64)})
    assert waves(replace(cube, grid=(37,)), PROFILE) == 2
    assert waves(replace(FLAT, grid=(None,)), PROFILE) is None
    assert total_cycles(replace(cube, grid=(37,)), PROFILE, {"k": loop("k", 10, 25)}) == 2 * 95


CHAIN = LoopProblem(2, (10, 20), (10, 20), (2, 16), ((0, 1, 0, 10), (1, 0, 1, 5)), ())
"""A load of 10 cycles on one pipe, a user of 20 on another."""


def test_the_bound_of_a_loop_is_its_intervals_and_its_longest_path() -> None:
    graph = replace(FLAT, scopes=(FLAT.scopes[0], replace(FLAT.scopes[1], items=("task", "user"))))
    assert least_length(CHAIN) == 30
    assert total_bound(graph, PROFILE, {"k": (("task", "user"), CHAIN)}, {"k": 20}) == 7 * 20 + 30


def test_an_outer_bound_is_weaker_where_the_nested_loop_could_be_faster() -> None:
    """The outer problem was asked with a nested loop of 200 cycles; its own bound is 4 * 20 + 30 = 110."""
    graph = nested((3, 5))
    outer = LoopProblem(2, (200, 7), (200, 7), (18, 4), ((0, 1, 0, 200),), ())
    problems = {"k": (("task", "user"), CHAIN), "i": (("k", "store"), outer)}
    assert total_bound(graph, PROFILE, problems, {"k": 20, "i": 200}) == 2 * 110 + 110
    exact = replace(outer, latencies=(110, 7), iis=(110, 7), data_deps=((0, 1, 0, 110),))
    assert total_bound(graph, PROFILE, problems | {"i": (("k", "store"), exact)}, {"k": 20, "i": 110}) == 2 * 110 + 117


def test_a_list_of_one_resource_takes_its_tasks_in_turn() -> None:
    assert least_length(StraightProblem((10, 10, 10), (8, 8, 8), (2, 2, 2), (), ((0, 1), (0, 2), (1, 2)))) == 26
