"""The engine port's contract, held by all three engines."""

from collections.abc import Callable
from itertools import pairwise

import pytest

from warpwright.solver.engines import Budget, Engine, EngineStatus, engine, engine_names
from warpwright.solver.engines.model import Literal, Model, linear
from warpwright.solver.engines.port import evaluate, holds

BUDGET = Budget(work_limit=5_000, wall_seconds=60.0)


@pytest.fixture(params=engine_names())
def each(request: pytest.FixtureRequest) -> Engine:
    return engine(request.param)


def knapsack() -> Model:
    """Two objectives that pull apart: fill 10 units as cheaply as possible, then use as few pieces as possible."""
    model = Model()
    fives, threes, ones = (model.integer(name, 0, 4) for name in ("fives", "threes", "ones"))
    with model.family("fill"):
        model.at_least(5 * fives + 3 * threes + ones, 10)
    model.minimize(6 * fives + 3 * threes + 2 * ones, fives + threes + ones)
    return model


def clash() -> Model:
    """Three families, of which two clash; the third must not be named."""
    model = Model()
    x, y = model.integer("x", 0, 9), model.integer("y", 0, 9)
    with model.family("sum"):
        model.at_least(x + y, 12)
    with model.family("bystander"):
        model.at_most(x - y, 5)
    with model.family("limits"):
        model.at_most(x, 5)
        model.at_most(y, 5)
    model.minimize(linear((1, x)))
    return model


def guarded() -> Model:
    """Guards, clauses and negated literals: the cheap branch is closed by a clause."""
    model = Model()
    cheap, dear = model.boolean("cheap"), model.boolean("dear")
    cost = model.integer("cost", 0, 100)
    with model.family("choice"):
        model.any_of([cheap, dear])
        model.any_of([cheap.negated(), dear.negated()])
    with model.family("price"):
        model.equal(cost, 7, when=[cheap])
        model.equal(cost, 20, when=[dear])
    with model.family("closed"):
        model.any_of([cheap.negated()])
    model.minimize(cost)
    return model


def test_levels_are_minimised_in_order(each: Engine) -> None:
    result = each.solve(knapsack(), BUDGET)
    assert result.status is EngineStatus.OPTIMAL
    assert result.objectives == result.bounds == (11, 4)
    assert result.values == (0, 3, 1)
    assert result.work >= 1


def test_a_core_names_the_clashing_families_only(each: Engine) -> None:
    result = each.solve(clash(), BUDGET)
    assert result.status is EngineStatus.INFEASIBLE
    assert result.values is None
    assert set(result.core) == {"sum", "limits"}


def test_guards_and_clauses(each: Engine) -> None:
    result = each.solve(guarded(), BUDGET)
    assert (result.status, result.objectives) == (EngineStatus.OPTIMAL, (20,))


def test_an_empty_domain_by_definition_has_an_empty_core(each: Engine) -> None:
    model = Model()
    x = model.integer("x", 0, 3)
    model.at_least(x, 4)
    result = each.solve(model, BUDGET)
    assert (result.status, result.core) == (EngineStatus.INFEASIBLE, ())


def test_a_model_without_objectives_gets_any_assignment(each: Engine) -> None:
    model = Model()
    x, y = model.integer("x", -5, 5), model.integer("y", -5, 5)
    model.equal(3 * x - 2 * y, 7)
    result = each.solve(model, BUDGET)
    assert (result.status, result.objectives) == (EngineStatus.OPTIMAL, ())
    assert result.values is not None
    assert all(holds(constraint, result.values) for constraint in model.constraints)


def test_a_constant_constraint_is_decided(each: Engine) -> None:
    model = Model()
    with model.family("constant"):
        model.at_least(linear(constant=3), 4)
    assert each.solve(model, BUDGET).core == ("constant",)


def hard() -> Model:
    """Pigeons in holes, with a cost: no engine finishes it in one unit of work."""
    model = Model()
    holes, pigeons = 11, 12
    inside = [[model.boolean(f"p{p}h{h}") for h in range(holes)] for p in range(pigeons)]
    with model.family("pigeons"):
        for row in inside:
            model.any_of(row)
    with model.family("holes"):
        for hole in range(holes):
            for first in range(pigeons):
                for second in range(first):
                    model.any_of([inside[first][hole].negated(), inside[second][hole].negated()])
    model.minimize(linear(*((1, row[0].var) for row in inside)))
    return model


@pytest.mark.parametrize("name", ["z3", "enumerate"])
def test_unknown_stays_unknown(name: str) -> None:
    result = engine(name).solve(hard(), Budget(work_limit=1, wall_seconds=60.0))
    assert (result.status, result.values, result.core) == (EngineStatus.UNKNOWN, None, ())
    assert "limit" in result.reason or "budget" in result.reason


def ruler(marks: int, length: int) -> Model:
    """Golomb ruler: easy to satisfy, hard to prove; so a small budget cuts after a first answer."""
    model = Model()
    places = [model.integer(f"m{i}", 0, length) for i in range(marks)]
    with model.family("order"):
        model.equal(places[0], 0)
        for left, right in pairwise(places):
            model.at_least(right - left, 1)
    pairs = [(i, j) for j in range(marks) for i in range(j)]
    with model.family("distinct"):
        for n, (a, b) in enumerate(pairs):
            for c, d in pairs[:n]:
                less = model.boolean(f"less_{a}_{b}_{c}_{d}")
                gap = linear((1, places[b]), (-1, places[a]), (-1, places[d]), (1, places[c]))
                model.at_most(gap, -1, when=[less])
                model.at_least(gap, 1, when=[less.negated()])
    model.minimize(places[-1])
    return model


@pytest.mark.parametrize(("name", "work"), [("cpsat", 60), ("z3", 1000)])
def test_a_cut_answer_is_feasible_and_never_called_optimal(name: str, work: int) -> None:
    model = ruler(8, 60)
    result = engine(name).solve(model, Budget(work_limit=work, wall_seconds=60.0))
    assert result.status is EngineStatus.FEASIBLE
    assert result.values is not None
    assert all(holds(constraint, result.values) for constraint in model.constraints)
    assert result.objectives == (evaluate(model.objectives[0], result.values),)
    assert result.bounds[0] < result.objectives[0]
    assert "budget" in result.reason


def test_improving_assignments_are_reported_while_it_runs(each: Engine) -> None:
    seen: list[tuple[int, ...]] = []
    result = each.solve(ruler(4, 12), BUDGET, on_solution=seen.append)
    assert result.objectives == (6,)
    assert result.values in seen


@pytest.mark.parametrize("make", [knapsack, guarded, clash, lambda: ruler(5, 15)])
def test_twice_the_same_input_gives_the_same_answer(each: Engine, make: Callable[[], Model]) -> None:
    assert each.solve(make(), BUDGET) == each.solve(make(), BUDGET)


def test_a_wrong_hint_does_no_harm(each: Engine) -> None:
    model = knapsack()
    assert each.solve(model, BUDGET, hint=(4, 4, 4)).objectives == (11, 4)
    assert each.solve(model, BUDGET, hint=(None, 3, None)).objectives == (11, 4)


def test_numbers_too_large_for_exact_sums_are_unknown_not_infeasible(each: Engine) -> None:
    model = Model()
    big = model.integer("big", 0, 10**14)
    with model.family("huge"):
        model.at_least(10**6 * big, 1, note="cycles of the whole run")
    result = each.solve(model, BUDGET)
    assert result.status is EngineStatus.UNKNOWN
    assert "huge: cycles of the whole run" in result.reason


def test_the_model_is_left_as_it_was(each: Engine) -> None:
    model = clash()
    before = (list(model.variables), list(model.constraints), list(model.objectives))
    each.solve(model, BUDGET)
    assert (model.variables, model.constraints, model.objectives) == before


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(ValueError, match="no engine 'gurobi'"):
        engine("gurobi")


def test_literals_negate_twice_to_themselves() -> None:
    literal = Model().boolean("b")
    assert literal.negated().negated() == literal
    assert literal.negated() == Literal(literal.var, positive=False)


def test_a_solver_object_is_made_for_each_question_and_for_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bug cases 65 and 76: one object for two questions carries the first into the second; unasked ones cost time."""
    from ortools.sat.python import cp_model

    made: list[int] = []

    class Counting(cp_model.CpSolver):  # type: ignore[misc]  # untyped library
        def __init__(self) -> None:
            super().__init__()
            made.append(0)
            self.place = len(made) - 1

        def solve(self, *arguments: object, **named: object) -> object:
            made[self.place] += 1
            return super().solve(*arguments, **named)

    monkeypatch.setattr(cp_model, "CpSolver", Counting)
    model = knapsack()
    assert made == []
    assert engine("cpsat").solve(model, BUDGET).status is EngineStatus.OPTIMAL
    assert made == [1, 1], "one object and one question for each of the two objectives"
