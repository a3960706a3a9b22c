"""What every constraint family owes: three faces, a name, a sourced sentence, and facts that add up."""

import inspect
from importlib import import_module

import pytest

from tests import kernels
from warpwright.solver.domain.verdict import ProvenOptimal
from warpwright.solver.profiles import load_profile
from warpwright.solver.warp.encoding import declare
from warpwright.solver.warp.families import FAMILIES, Family, family
from warpwright.solver.warp.problem import close_problem
from warpwright.solver.warp.schedule_reader import Reading
from warpwright.solver.warp.solve import solve

H200 = load_profile("h200")
MODULES = {each.name: import_module(each.explain.__module__) for each in FAMILIES}


@pytest.fixture(params=FAMILIES, ids=lambda each: each.name)
def each(request: pytest.FixtureRequest) -> Family:
    chosen: Family = request.param
    return chosen


def test_the_docstring_is_the_rule_and_its_source(each: Family) -> None:
    text = inspect.getdoc(MODULES[each.name]) or ""
    assert text.split(".")[0].strip(), each.name
    assert "Source" in text or "rule book" in text or "wheel" in text or "(Twill" in text, each.name


def test_it_is_found_by_its_name(each: Family) -> None:
    assert family(each.name) is each
    assert each.name == MODULES[each.name].NAME


def test_it_writes_under_its_own_label(each: Family) -> None:
    enc = declare(close_problem(kernels.attention(), H200))
    before = len(enc.model.constraints)
    with enc.model.family(each.name):
        each.build(enc)
    labels = {constraint.family for constraint in enc.model.constraints[before:]}
    assert labels <= {each.name}


def test_it_accepts_what_the_solver_answers_and_its_facts_add_up(each: Family) -> None:
    problem = close_problem(kernels.gemm(64, 64, 32, threads=128), H200)
    verdict = solve(problem)
    assert isinstance(verdict, ProvenOptimal)
    assert verdict.schedule.kind == "warp"
    reading = Reading(problem, verdict.schedule)
    assert each.check(reading) == ()
    for fact in (*each.explain(problem, reading), *each.explain(problem, None)):
        assert not fact.holders or sum(amount for _, amount in fact.holders) == fact.used, fact
        assert fact.resource in str(fact)
        if fact.limit is not None and each.name != "warp_ranges":
            assert fact.slack is not None
            assert fact.slack >= 0


def test_names_are_unique() -> None:
    assert len({each.name for each in FAMILIES}) == len(FAMILIES)
