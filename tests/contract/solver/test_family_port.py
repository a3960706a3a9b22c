"""What every rule family owes, of whatever kind: a name, a sourced sentence, three faces, and facts that add up."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from types import ModuleType

import pytest

from benchmarks.mutation import FAMILIES
from tests import kernels
from tests.unit.solver.ascend.families.boundaries import ring
from tests.unit.solver.modulo.families.starts import product_and_softmax
from warpwright.solver.ascend.encoding import Network
from warpwright.solver.ascend.schedule_reader import CallReading
from warpwright.solver.domain.verdict import ProvenOptimal
from warpwright.solver.modulo.encoding import DEFINITIONS, ModuloEncoding
from warpwright.solver.modulo.schedule_reader import ModuloReading
from warpwright.solver.profiles import load_profile
from warpwright.solver.warp.encoding import WarpEncoding, declare
from warpwright.solver.warp.families import family
from warpwright.solver.warp.problem import close_problem
from warpwright.solver.warp.schedule_reader import Reading
from warpwright.solver.warp.solve import solve


@dataclass(frozen=True)
class Kind:
    """A problem of one kind with a legal answer, and who wrote what into a fresh model of it."""

    problem: object
    answer: object
    labels: Callable[[ModuleType], set[str]]


@cache
def kind(name: str) -> Kind:
    return {"warp": _warp, "modulo": _modulo, "ascend": _ascend}[name]()


def _warp() -> Kind:
    problem = close_problem(kernels.gemm(64, 64, 32, threads=128), load_profile("h200"))
    verdict = solve(problem)
    assert isinstance(verdict, ProvenOptimal)
    assert verdict.schedule.kind == "warp"

    def labels(module: ModuleType) -> set[str]:
        enc: WarpEncoding = declare(problem)
        before = len(enc.model.constraints)
        with enc.model.family(module.NAME):
            module.build(enc)
        return {constraint.family for constraint in enc.model.constraints[before:]}

    return Kind(problem, Reading(problem, verdict.schedule), labels)


def _modulo() -> Kind:
    start = product_and_softmax()

    def labels(module: ModuleType) -> set[str]:
        encoding = ModuloEncoding(start.problem, 1, 20)
        before = len(encoding.model.constraints)
        module.build(encoding)
        return {constraint.family for constraint in encoding.model.constraints[before:]} - {DEFINITIONS}

    return Kind(start.problem, ModuloReading(start.problem, start.schedule), labels)


def _ascend() -> Kind:
    start = ring()

    def labels(module: ModuleType) -> set[str]:
        network = Network(start.problem)
        module.build(network)
        written = [arc.family for arc in network.arcs]
        written += [arc.family for arc in network.version_arcs]
        return {*written, *(exclusion.family for exclusion in network.exclusions)}

    return Kind(start.problem, CallReading(start.problem, start.answer), labels)


EVERY = [pytest.param(name, module, id=f"{name}-{module.NAME}") for name in FAMILIES for module in FAMILIES[name]]


@pytest.mark.parametrize(("name", "module"), EVERY)
def test_the_docstring_is_the_rule_and_its_source(name: str, module: ModuleType) -> None:
    text = inspect.getdoc(module) or ""
    assert text.split(".")[0].strip()
    assert "Source" in text or "rule book" in text or "wheel" in text or "(Twill" in text or "(The modular" in text


@pytest.mark.parametrize(("name", "module"), EVERY)
def test_it_has_three_faces_and_writes_under_its_own_label(name: str, module: ModuleType) -> None:
    assert all(callable(getattr(module, face)) for face in ("build", "check", "explain"))
    assert kind(name).labels(module) <= {module.NAME}


@pytest.mark.parametrize(("name", "module"), EVERY)
def test_it_accepts_a_legal_answer_and_its_facts_add_up(name: str, module: ModuleType) -> None:
    start = kind(name)
    assert module.check(start.answer) == ()
    for fact in (*module.explain(start.problem, start.answer), *module.explain(start.problem, None)):
        assert not fact.holders or sum(amount for _, amount in fact.holders) == fact.used, fact
        assert fact.resource in str(fact)
        if fact.limit is not None and module.NAME != "warp_ranges":
            assert fact.slack is not None
            assert fact.slack >= 0, fact


@pytest.mark.parametrize("name", FAMILIES)
def test_names_are_unique(name: str) -> None:
    assert len({module.NAME for module in FAMILIES[name]}) == len(FAMILIES[name])


def test_a_family_is_found_by_its_name() -> None:
    assert all(family(module.NAME) is module for module in FAMILIES["warp"])
