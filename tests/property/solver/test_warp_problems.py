"""Random small kernels: the search against trying everything, build against check, engine against engine.

The short run draws the same few examples every time; ``-m slow`` draws many new ones.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmarks.mutation import Mutation, emptied
from tests import kernels
from tests.property.solver.disagreement import Disagreement, agreed, disagree
from tests.property.solver.oracle import (
    WIDTHS,
    Choice,
    best_by_trying,
    choices,
    judge,
    pins_of,
    schedule_of,
    small_problems,
)
from warpwright.solver.device.limits import WARPGROUP
from warpwright.solver.domain.pins import Pins, PlacementPin
from warpwright.solver.domain.schedule import WarpSchedule
from warpwright.solver.domain.verdict import Feasible, Infeasible, ProvenOptimal, Unknown
from warpwright.solver.engines import Budget, EngineStatus, engine
from warpwright.solver.engines.core import restricted
from warpwright.solver.profiles import load_profile
from warpwright.solver.warp.bounds import lower_bounds
from warpwright.solver.warp.certificate_check import check_certificate
from warpwright.solver.warp.families import FAMILIES
from warpwright.solver.warp.layout.structure import structure_of
from warpwright.solver.warp.placements import as_placed
from warpwright.solver.warp.problem import WarpProblem, close_problem
from warpwright.solver.warp.schedule_reader import Reading
from warpwright.solver.warp.solve import build_model, solve, starting_point
from warpwright.solver.warp.verify import violations

BUDGET = Budget(work_limit=100_000, wall_seconds=120.0)
MOST = 3
QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]

Property = Callable[[WarpProblem], None]


def shallow(problem: WarpProblem) -> WarpProblem:
    """The problem with loops of at most ``MOST`` iterations, so that no depth beyond the oracle's is legal."""
    scopes = tuple(
        scope
        if scope.parent is None or (scope.trips is not None and scope.trips <= MOST)
        else replace(scope, trips=MOST)
        for scope in problem.graph.scopes
    )
    return replace(problem, graph=replace(problem.graph, scopes=scopes))


def search_equals_trying_everything(problem: WarpProblem) -> None:
    """The search's judgement is the best of all choices in one placement, as far as the oracle's register splits reach. In others
    it is shorter, or the same.
    """
    problem = shallow(problem)
    free = solve(problem, budget=BUDGET)
    roles = structure_of(problem).placement.items()
    problem = problem.with_pins(
        Pins(placements=tuple(PlacementPin(op, where[0]) for op, where in roles if len(where) == 1))
    )
    best = best_by_trying(problem, MOST)
    found = solve(problem, budget=BUDGET)
    assert isinstance(found, Infeasible | ProvenOptimal)
    if best is not None:
        assert isinstance(found, ProvenOptimal)
        assert isinstance(found.schedule, WarpSchedule)
        reached = judge(problem, found.schedule)
        tried = found.schedule.role("consumer").warps // WARPGROUP in WIDTHS
        assert reached == best if tried else reached[0] < best[0]
        assert isinstance(free, ProvenOptimal)
        assert (free.certificate.initiation_interval_cycles or 0) <= best[0]


def engines_agree(problem: WarpProblem) -> None:
    """CP-SAT and Z3: the same status, the same optimum on every level, cores that are infeasible for both."""
    enc = build_model(problem)
    try:
        agreed(enc.model, ("cpsat", "z3"), BUDGET, starting_point(enc))
    except Disagreement as error:
        disagree("warp-problem", json.loads(problem.to_json()), str(error))


def answers_are_verified(problem: WarpProblem) -> None:
    """Every answer passes the verifier, its certificate the arithmetic, its interval the bound."""
    found = solve(problem, budget=BUDGET)
    assert not isinstance(found, Unknown)
    if isinstance(found, ProvenOptimal | Feasible):
        assert isinstance(found.schedule, WarpSchedule)
        assert check_certificate(problem, found.schedule, found.certificate).refused == ()
        assert found.certificate.gap_cycles == 0
        assert found.certificate.initiation_interval_cycles is not None
        placed = as_placed(Reading(problem, found.schedule))
        assert placed is not None
        assert found.certificate.initiation_interval_cycles >= lower_bounds(placed)["k"][0].cycles


def choices_agree(problem: WarpProblem, choice: Choice) -> None:
    """A choice fixed by pins is feasible for the engine exactly when the verifier accepts its schedule."""
    found = violations(problem, schedule_of(problem, choice))
    enc = build_model(problem.with_pins(pins_of(problem, choice)))
    enc.model.objectives = []
    result = engine("cpsat").solve(enc.model, BUDGET)
    assert result.status in (EngineStatus.OPTIMAL, EngineStatus.INFEASIBLE), result.reason
    if (result.status is EngineStatus.OPTIMAL) == (not found):
        return
    rules = ", ".join(sorted({f"{violation.family}/{violation.rule}" for violation in found}))
    told = f"check refuses it ({rules}), build allows it" if found else "check accepts it, build forbids it"
    core = "" if found else f"\ncore: {', '.join(result.core)}"
    disagree("warp-choice", {"problem": json.loads(problem.to_json()), "choice": choice}, f"{told}{core}")


def relaxing_never_worsens(problem: WarpProblem, family: str) -> None:
    """Without one family the best interval is the same or shorter, and what was feasible stays so."""
    results = []
    for relaxed in ((), (family,)):
        enc = build_model(replace(problem, relaxed=relaxed))
        enc.model.minimize(enc.interval["k"])
        results.append(engine("cpsat").solve(enc.model, BUDGET))
    full, less = results
    if full.status is EngineStatus.OPTIMAL:
        assert less.status is EngineStatus.OPTIMAL
        assert less.objectives <= full.objectives


def cores_are_minimal(problem: WarpProblem, choice: Choice, name: str) -> None:
    """A core's families exclude every schedule by themselves, and without any one of them some schedule is left."""
    enc = build_model(problem.with_pins(pins_of(problem, choice)))
    result = engine(name).solve(enc.model, BUDGET)
    if result.status is not EngineStatus.INFEASIBLE:
        return
    other = engine("cpsat" if name == "z3" else "z3")
    for dropped in (None, *result.core):
        rest = restricted(enc.model, [family for family in result.core if family != dropped])
        expected = EngineStatus.INFEASIBLE if dropped is None else EngineStatus.OPTIMAL
        assert other.solve(rest, BUDGET).status is expected, (result.core, dropped)


def bounds_hold(problem: WarpProblem, choice: Choice) -> None:
    """No schedule that the verifier accepts has an interval below the bound of its width, or below that of all widths."""
    schedule = schedule_of(problem, choice)
    if violations(problem, schedule):
        return
    interval = judge(problem, schedule)[0]
    assert interval >= lower_bounds(problem, choice[2])["k"][0].cycles >= lower_bounds(problem)["k"][0].cycles


PROPERTIES = [search_equals_trying_everything, engines_agree, answers_are_verified]


@pytest.mark.parametrize("holds", PROPERTIES)
@settings(max_examples=4, deadline=None, derandomize=True, suppress_health_check=QUIET)
@given(problem=small_problems())
def test_it_holds(holds: Property, problem: WarpProblem) -> None:
    holds(problem)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("holds", PROPERTIES)
@settings(max_examples=100, deadline=None, suppress_health_check=QUIET)
@given(problem=small_problems())
def test_it_holds_on_many(holds: Property, problem: WarpProblem) -> None:
    holds(problem)


@settings(max_examples=10, deadline=None, derandomize=True, suppress_health_check=QUIET)
@given(small_problems(), st.data())
def test_check_agrees_with_build(problem: WarpProblem, data: st.DataObject) -> None:
    choices_agree(problem, data.draw(st.sampled_from(list(choices(problem, MOST)))))


@pytest.mark.slow
@pytest.mark.timeout(3600)
@settings(max_examples=300, deadline=None, suppress_health_check=QUIET)
@given(small_problems(), st.data())
def test_check_agrees_with_build_on_many(problem: WarpProblem, data: st.DataObject) -> None:
    choices_agree(problem, data.draw(st.sampled_from(list(choices(problem, MOST)))))


@pytest.mark.parametrize("name", ["cpsat", "z3"])
@settings(max_examples=5, deadline=None, derandomize=True, suppress_health_check=QUIET)
@given(problem=small_problems(), data=st.data())
def test_cores_are_minimal(name: str, problem: WarpProblem, data: st.DataObject) -> None:
    cores_are_minimal(problem, data.draw(st.sampled_from(list(choices(problem, MOST)))), name)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", ["cpsat", "z3"])
@settings(max_examples=200, deadline=None, suppress_health_check=QUIET)
@given(problem=small_problems(), data=st.data())
def test_cores_are_minimal_on_many(name: str, problem: WarpProblem, data: st.DataObject) -> None:
    cores_are_minimal(problem, data.draw(st.sampled_from(list(choices(problem, MOST)))), name)


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=QUIET)
@given(small_problems(), st.data())
def test_no_schedule_beats_its_bound(problem: WarpProblem, data: st.DataObject) -> None:
    bounds_hold(problem, data.draw(st.sampled_from(list(choices(problem, MOST)))))


@settings(max_examples=4, deadline=None, derandomize=True, suppress_health_check=QUIET)
@given(small_problems(), st.sampled_from([family.NAME for family in FAMILIES]))
def test_relaxing_a_family_never_worsens_the_optimum(problem: WarpProblem, family: str) -> None:
    relaxing_never_worsens(problem, family)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@settings(max_examples=100, deadline=None, suppress_health_check=QUIET)
@given(small_problems(), st.sampled_from([family.NAME for family in FAMILIES]))
def test_relaxing_never_worsens_many(problem: WarpProblem, family: str) -> None:
    relaxing_never_worsens(problem, family)


@pytest.mark.parametrize("name", ["cpsat", "z3"])
@settings(max_examples=2, deadline=None, derandomize=True, suppress_health_check=QUIET)
@given(problem=small_problems())
def test_twice_the_same_problem_gives_the_same_bytes(name: str, problem: WarpProblem) -> None:
    assert solve(problem, engine=name, budget=BUDGET) == solve(problem, engine=name, budget=BUDGET)


def one_choice(rule: str) -> tuple[WarpProblem, Choice]:
    """A small problem, and a choice that breaks this rule alone; any legal one without a rule."""
    problem = close_problem(kernels.gemm(64, 64, 32, threads=128, trips=2), load_profile("h200"))
    wanted = {rule} if rule else set()
    for choice in choices(problem, MOST):
        found = violations(problem, schedule_of(problem, choice))
        if {f"{violation.family}/{violation.rule}" for violation in found} == wanted:
            return problem, choice
    raise AssertionError(f"no choice breaks {rule or 'nothing'} alone")


def test_a_check_that_is_too_mild_is_named_with_its_core(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WARPWRIGHT_TEST_DISAGREEMENTS", str(tmp_path))
    problem, choice = one_choice("pipeline_depth/deeper-than-trips")
    choices_agree(problem, choice)
    with emptied(Mutation("warp", "pipeline_depth", "check")), pytest.raises(Disagreement) as told:
        choices_agree(problem, choice)
    assert "check accepts it, build forbids it" in str(told.value)
    assert "core: pipeline_depth" in str(told.value)
    (path,) = tmp_path.iterdir()
    written = json.loads(path.read_text())
    assert WarpProblem.from_json(json.dumps(written["problem"])) == problem
    assert str(path) in str(told.value)


def test_a_build_that_is_too_mild_is_named_with_the_rule(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WARPWRIGHT_TEST_DISAGREEMENTS", str(tmp_path))
    problem, choice = one_choice("pipeline_depth/deeper-than-trips")
    with emptied(Mutation("warp", "pipeline_depth", "build")), pytest.raises(Disagreement) as told:
        choices_agree(problem, choice)
    assert "check refuses it (pipeline_depth/deeper-than-trips), build allows it" in str(told.value)
    assert len(list(tmp_path.iterdir())) == 1
