"""Random small kernels: the search against trying everything, build against check, engine against engine."""

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from solver.bounds import lower_bounds
from solver.domain.schedule import WarpSchedule
from solver.domain.verdict import Feasible, Infeasible, ProvenOptimal, Unknown
from solver.engines import Budget, EngineStatus, engine
from solver.families import FAMILIES
from solver.problem import WarpProblem
from solver.solve import build_model, solve
from solver.verify import check_certificate, violations
from tests.property.solver.oracle import (
    BUDGETS,
    WIDTHS,
    best_by_trying,
    choices,
    examples,
    judge,
    pins_of,
    schedule_of,
    small_problems,
)

BUDGET = Budget(work_limit=100_000, wall_seconds=120.0)
MOST = 3
QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large]


def shallow(problem: WarpProblem) -> WarpProblem:
    """The problem with loops of at most ``MOST`` iterations, so that no depth beyond the oracle's is legal."""
    scopes = tuple(
        scope
        if scope.trips is not None and scope.trips <= MOST
        else replace(scope, trips=MOST)
        if scope.parent is not None
        else scope
        for scope in problem.graph.scopes
    )
    return replace(problem, graph=replace(problem.graph, scopes=scopes))


@settings(max_examples=examples(4), deadline=None, suppress_health_check=QUIET)
@given(small_problems())
def test_the_search_finds_what_trying_everything_finds(problem: WarpProblem) -> None:
    problem = shallow(problem)
    best = best_by_trying(problem, MOST)
    found = solve(problem, budget=BUDGET)
    if best is None:
        # The oracle tries four register splits only; the search may find another one, but never a worse judgement.
        assert isinstance(found, Infeasible | ProvenOptimal)
        return
    assert isinstance(found, ProvenOptimal)
    assert isinstance(found.schedule, WarpSchedule)
    assert judge(problem, found.schedule) <= best
    others = [c for c in choices(problem, MOST) if not violations(problem, schedule_of(problem, c))]
    widths = {choice[2] for choice in others}
    if found.schedule.role("consumer").warps // 4 in widths:
        assert judge(problem, found.schedule) == best


@settings(max_examples=examples(4), deadline=None, suppress_health_check=QUIET)
@given(small_problems())
def test_both_engines_find_the_same_optimum(problem: WarpProblem) -> None:
    enc = build_model(problem)
    first, second = (engine(name).solve(enc.model, BUDGET) for name in ("cpsat", "z3"))
    assert (first.status, first.objectives) == (second.status, second.objectives)


@settings(max_examples=examples(10), deadline=None, suppress_health_check=QUIET)
@given(small_problems(), st.data())
def test_check_agrees_with_build(problem: WarpProblem, data: st.DataObject) -> None:
    """A choice fixed by pins is feasible for the engine exactly when the verifier accepts its schedule."""
    every = list(choices(problem, MOST))
    choice = data.draw(st.sampled_from(every))
    assert choice[2] in WIDTHS
    assert choice[3] in BUDGETS
    accepted = not violations(problem, schedule_of(problem, choice))
    enc = build_model(problem.with_pins(pins_of(problem, choice)))
    enc.model.objectives = []
    status = engine("cpsat").solve(enc.model, BUDGET).status
    assert status is (EngineStatus.OPTIMAL if accepted else EngineStatus.INFEASIBLE)


@settings(max_examples=examples(4), deadline=None, suppress_health_check=QUIET)
@given(small_problems())
def test_every_answer_passes_the_verifier_and_its_certificate_the_arithmetic(problem: WarpProblem) -> None:
    found = solve(problem, budget=BUDGET)
    assert not isinstance(found, Unknown)
    if isinstance(found, ProvenOptimal | Feasible):
        assert isinstance(found.schedule, WarpSchedule)
        assert check_certificate(problem, found.schedule, found.certificate) == ()
        assert found.certificate.gap_cycles == 0
        assert found.certificate.initiation_interval_cycles is not None
        assert found.certificate.initiation_interval_cycles >= lower_bounds(problem)["k"][0].cycles


@settings(max_examples=examples(4), deadline=None, suppress_health_check=QUIET)
@given(small_problems(), st.sampled_from([family.name for family in FAMILIES]))
def test_relaxing_a_family_never_worsens_the_optimum(problem: WarpProblem, family: str) -> None:
    results = []
    for relaxed in ((), (family,)):
        enc = build_model(replace(problem, relaxed=relaxed))
        enc.model.minimize(enc.interval["k"])
        results.append(engine("cpsat").solve(enc.model, BUDGET))
    full, less = results
    if full.status is EngineStatus.OPTIMAL:
        assert less.status is EngineStatus.OPTIMAL
        assert less.objectives <= full.objectives


@pytest.mark.parametrize("name", ["cpsat", "z3"])
@settings(max_examples=examples(2), deadline=None, suppress_health_check=QUIET)
@given(problem=small_problems())
def test_twice_the_same_problem_gives_the_same_bytes(name: str, problem: WarpProblem) -> None:
    assert solve(problem, engine=name, budget=BUDGET) == solve(problem, engine=name, budget=BUDGET)
