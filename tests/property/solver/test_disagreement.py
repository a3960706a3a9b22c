"""A disagreement is told with its families, made small and written down: shown by an engine that is deaf to one family."""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.property.solver.disagreement import Disagreement, agreed, main, model_document, model_of
from warpwright.solver.engines import Budget, EngineResult, EngineStatus, engine
from warpwright.solver.engines.model import Model
from warpwright.solver.engines.port import OnSolution


class Deaf:
    """An engine that never hears of one family."""

    name, version = "deaf", "1"

    def __init__(self, family: str, *, keeps_values: bool = True) -> None:
        self.family = family
        self.keeps_values = keeps_values

    def solve(
        self,
        model: Model,
        budget: Budget,
        hint: Sequence[int | None] | None = None,
        *,
        on_solution: OnSolution | None = None,
    ) -> EngineResult:
        heard = [constraint for constraint in model.constraints if constraint.family != self.family]
        result = engine("cpsat").solve(replace(model, constraints=heard), budget, hint, on_solution=on_solution)
        return result if self.keeps_values else replace(result, values=None)


def crowded() -> Model:
    """Four families on three numbers; ``pool`` and ``need`` clash, ``other`` and ``order`` have nothing to do with it."""
    model = Model()
    first, second, third = (model.integer(name, 0, 9) for name in ("first", "second", "third"))
    switch = model.boolean("switch")
    with model.family("need"):
        model.at_least(first, 6, note="the first needs six")
        model.at_least(second, 2)
    with model.family("other"):
        model.at_most(third, 3)
        model.any_of([switch], when=[switch])
    with model.family("pool"):
        model.at_most(first + second, 9)
        model.at_most(first, 5, note="the pool holds five")
    with model.family("order"):
        model.at_most(third - second, 9, when=[switch])
    model.minimize(first + third)
    return model


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WARPWRIGHT_TEST_DISAGREEMENTS", str(tmp_path / "found"))
    return tmp_path / "found"


def test_a_disagreement_names_families_and_leaves_the_least_instance(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    engines = {"cpsat": engine("cpsat"), "deaf": Deaf("pool", keeps_values=False)}
    with pytest.raises(Disagreement) as told:
        agreed(crowded(), engines, Budget())
    message = str(told.value)
    assert "cpsat: infeasible []; deaf: optimal [6]; core of cpsat: need, pool" in message
    assert "families it takes: need, pool (of need, other, pool, order)" in message
    (path,) = folder.iterdir()
    assert str(path) in message
    least = model_of(json.loads(path.read_text()))
    assert [constraint.note for constraint in least.constraints] == ["the first needs six", "the pool holds five"]
    assert main(str(path)) == 0
    assert re.findall(r"(\w+): infeasible", capsys.readouterr().out) == ["cpsat", "z3", "enumerate"]


def test_an_answer_that_breaks_a_rule_is_a_disagreement_with_its_family(folder: Path) -> None:
    model = crowded()
    model.constraints = [constraint for constraint in model.constraints if constraint.family != "pool"]
    with pytest.raises(Disagreement, match="deaf answers with an assignment that breaks need: 6 <= 1 first"):
        agreed(model, {"deaf": Deaf("need")}, Budget())
    assert len(list(folder.iterdir())) == 1


def test_engines_that_agree_give_their_answers(folder: Path) -> None:
    model = crowded()
    model.constraints = [constraint for constraint in model.constraints if constraint.family != "pool"]
    results = agreed(model, ("cpsat", "z3", "enumerate"), Budget())
    assert {(result.status, result.objectives) for result in results.values()} == {(EngineStatus.OPTIMAL, (6,))}
    assert not folder.exists()


def test_a_limit_says_nothing() -> None:
    class Tired(Deaf):
        def solve(self, model: Model, budget: Budget, *arguments: object, **options: object) -> EngineResult:
            return EngineResult(EngineStatus.UNKNOWN, None, (), (), (), 1, "no work left")

    agreed(crowded(), {"cpsat": engine("cpsat"), "tired": Tired("")}, Budget())


def test_a_model_survives_its_file() -> None:
    model = crowded()
    again = model_of(json.loads(json.dumps(model_document(model))))
    assert (again.variables, again.constraints, again.objectives) == (
        model.variables,
        model.constraints,
        model.objectives,
    )
