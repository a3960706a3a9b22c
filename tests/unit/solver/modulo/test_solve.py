"""Verdicts of the solver: bounds met, intervals excluded, infeasible with reasons, unknown kept unknown."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from benchmarks.graphs import scaling_case
from tests.unit.solver.modulo.tiny import chain, least_interval, two_groups
from warpwright.solver.engines import Budget, EngineResult, EngineStatus
from warpwright.solver.engines.model import Model
from warpwright.solver.modulo import (
    Group,
    ModuloEdge,
    ModuloMemory,
    ModuloOp,
    ModuloProblem,
    ModuloUnit,
    Use,
    least,
    solve,
)
from warpwright.solver.modulo.bounds import impossible, lower_bounds
from warpwright.solver.modulo.run import SearchRun


def test_the_bound_is_named_and_an_answer_that_meets_it_needs_no_exclusion() -> None:
    answer = solve(chain(capacity=3))
    assert answer.status == "proven_optimal"
    assert answer.schedule is not None
    assert answer.schedule.interval == answer.bound.cycles == 3
    assert answer.bound.reason == "resource:copy"
    assert [attempt.low for attempt in answer.attempts if attempt.status != "optimal"] == [3]
    assert (answer.engine, answer.proven_by) == ("constructive", "arithmetic")
    assert answer.engine_version == "warpwright-constructive/1"


def test_the_engine_named_is_the_one_that_found_the_interval() -> None:
    alone = solve(chain(capacity=3), constructive=False)
    assert (alone.engine, alone.proven_by) == ("cpsat", "arithmetic")
    assert alone.attempts[0].status == "optimal"
    # here every smaller interval has to be excluded, which only an engine can do
    excluded = solve(replace(two_groups(), groups=two_groups().groups[:1]), engine_name="z3")
    assert excluded.status == "proven_optimal"
    assert excluded.proven_by == "z3"
    assert "z3" in {attempt.engine for attempt in excluded.attempts}


class _Refuting:
    """An engine that finds every model infeasible, and each time spends all there is."""

    name, version = "refuting", "1"

    def solve(self, model: Model, budget: Budget, *_: object, **__: object) -> EngineResult:
        return EngineResult(EngineStatus.INFEASIBLE, None, (), (), (), budget.work_limit, "no assignment satisfies it")


def test_a_refuted_guess_excludes_no_interval_even_when_the_budget_ends_there(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = two_groups()
    pinned = replace(problem, ops=tuple(replace(op, groups=("left",)) for op in problem.ops))
    monkeypatch.setattr(least, "guesses", lambda *_: iter([pinned]))
    bound = lower_bounds(problem)[0]
    run = SearchRun(_Refuting(), Budget(work_limit=50))
    found = least.least_interval(run, problem, bound, 30, constructive=False)
    assert found.bound == bound
    assert found.reason


def test_the_budget_holds_for_the_constructive_search_too() -> None:
    problem = scaling_case(100)
    answer = solve(problem, budget=Budget(work_limit=3), polish=False)
    assert answer.status in ("unknown", "feasible")
    assert sum(attempt.work for attempt in answer.attempts) <= 12


def test_a_bound_from_memory_beats_the_bound_from_units() -> None:
    # the buffer is held for 4 + 3 cycles a trip, so one buffer allows one trip every 7 cycles
    assert [bound.reason for bound in lower_bounds(chain(capacity=1))][:1] == ["memory:shared"]
    answer = solve(chain(capacity=1))
    assert answer.schedule is not None
    assert (answer.schedule.interval, answer.status) == (7, "proven_optimal")


def test_the_recurrence_bound_is_the_largest_ratio_of_latency_to_distance() -> None:
    problem = ModuloProblem(
        "ring",
        (ModuloUnit("u", 4),),
        (ModuloOp("a", 1), ModuloOp("b", 1), ModuloOp("c", 1)),
        (ModuloEdge("a", "b", 5), ModuloEdge("b", "a", 4, 2), ModuloEdge("c", "c", 4, 1), ModuloEdge("b", "c", 1)),
    )
    first = lower_bounds(problem)[0]
    assert first.cycles == 5
    assert first.reason in ("recurrence:a->b->a", "recurrence:b->a->b")
    assert solve(problem).status == "proven_optimal"


def test_smaller_intervals_are_excluded_when_the_bound_is_not_met() -> None:
    problem = replace(two_groups(), groups=two_groups().groups[:1])
    answer = solve(problem)
    assert answer.status == "proven_optimal"
    assert answer.schedule is not None
    assert answer.schedule.interval == answer.bound.cycles == least_interval(problem)
    assert answer.bound.cycles > answer.bounds[0].cycles


def test_a_second_group_buys_a_shorter_interval() -> None:
    one = solve(replace(two_groups(), groups=two_groups().groups[:1])).schedule
    two = solve(two_groups()).schedule
    assert one is not None
    assert two is not None
    assert two.interval < one.interval


Change = Callable[[ModuloProblem], ModuloProblem]


def first(problem: ModuloProblem, **changes: object) -> ModuloProblem:
    """The problem with its first operation changed."""
    return replace(problem, ops=(replace(problem.ops[0], **changes), *problem.ops[1:]))  # type: ignore[arg-type]  # names of fields


WARP = (Group("g", 1, 8),)
IMPOSSIBLE: list[tuple[Change, str]] = [
    (lambda p: first(p, uses=(Use("copy", 2, amount=2),)), "units"),
    (lambda p: first(p, memory=(("shared", 9),)), "memory"),
    (lambda p: replace(p, edges=(*p.edges, ModuloEdge("store", "load", 1))), "dependence"),
    (lambda p: first(replace(p, groups=WARP), warps=4), "placement"),
    (lambda p: first(replace(p, groups=WARP), registers=9), "registers"),
    (lambda p: first(replace(p, groups=WARP), variable_latency=True), "placement"),
]


@pytest.mark.parametrize(("change", "family"), IMPOSSIBLE)
def test_what_no_interval_can_cure_is_infeasible_without_an_engine(change: Change, family: str) -> None:
    problem = change(chain())
    assert {conflict.family for conflict in impossible(problem)} == {family}
    answer = solve(problem)
    assert answer.status == "infeasible"
    assert answer.attempts == ()
    assert answer.conflicts[0].relaxation


def test_an_infeasible_search_names_the_conflicting_families() -> None:
    # two results of one byte that are both alive at every issue of the third, in a memory of two bytes
    problem = ModuloProblem(
        "crowd",
        (ModuloUnit("u", 1),),
        tuple(ModuloOp(name, 1, (Use("u", 1),), memory=(("m", 1),)) for name in "abc"),
        (ModuloEdge("a", "b", 1), ModuloEdge("a", "c", 1, hold=1), ModuloEdge("b", "c", 1, hold=1)),
        (ModuloMemory("m", 2),),
        max_stages=2,
    )
    assert least_interval(problem) is None
    for engine in ("cpsat", "z3"):
        answer = solve(problem, engine_name=engine)
        assert answer.status == "infeasible"
        assert "memory" in {conflict.family for conflict in answer.conflicts}


def test_a_budget_that_ends_first_gives_unknown_and_never_infeasible() -> None:
    base = two_groups(registers=64)
    ops = [replace(op, id=f"{op.id}{copy}") for copy in range(5) for op in base.ops]
    edges = [
        replace(edge, source=f"{edge.source}{copy}", target=f"{edge.target}{copy}")
        for copy in range(5)
        for edge in base.edges
    ]
    problem = replace(base, ops=tuple(ops), edges=tuple(edges), groups=base.groups[:1])
    answer = solve(problem, budget=Budget(work_limit=1))
    assert answer.status == "unknown"
    assert answer.reason
    assert answer.schedule is None
    assert answer.bound.cycles >= answer.bounds[0].cycles


def test_twice_the_same_problem_is_twice_the_same_answer() -> None:
    first, second = (solve(two_groups()) for _ in range(2))
    assert first.schedule == second.schedule
    assert [attempt.work for attempt in first.attempts] == [attempt.work for attempt in second.attempts]
