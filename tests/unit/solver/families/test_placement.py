"""Every statement is placed once, where the kernel has it, in a role that enters its scope and knows its scalars.

Where statements run is no decision of the search: it follows from the kernel, and ``build`` fixes it. The search has no words for
a statement that runs twice, or nowhere, so these boundaries are of ``check`` alone; what ``build`` says of its own is below.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest

from tests import kernels
from tests.unit.solver.families.boundaries import CANNOT_BE_SAID, Boundary, assert_built, assert_checked
from tests.unit.solver.families.kernels import peeks, persistent, ring, ring_with_store
from tests.unit.solver.families.situations import ROOT, Situation, start
from warpwright.solver.domain.pins import Pins, PlacementPin
from warpwright.solver.domain.schedule import RoleBody, ScopeProgram
from warpwright.solver.domain.verdict import Infeasible
from warpwright.solver.engines import Budget, EngineStatus, engine
from warpwright.solver.warp.families import family
from warpwright.solver.warp.solve import build_model, solve


def unsaid(rule: str, legal: Callable[[], Situation], broken: Callable[[], Situation], about: str = "") -> Boundary:
    return Boundary("placement", rule, legal, broken, CANNOT_BE_SAID, about=about)


def rewritten(change: Callable[[ScopeProgram], tuple[ScopeProgram, ...]]) -> Situation:
    """The ring with each scope's program replaced by others."""
    situation = ring()
    return situation.programs(*(new for program in situation.schedule.scopes for new in change(program)))


def split(program: ScopeProgram) -> tuple[ScopeProgram, ...]:
    return tuple(replace(program, bodies=(body,)) for body in program.bodies) if program.scope == "k" else (program,)


def doubled(program: ScopeProgram) -> tuple[ScopeProgram, ...]:
    bodies = (*program.bodies, *(body for body in program.bodies if body.role == "load"))
    return (replace(program, bodies=bodies) if program.scope == "k" else program,)


def haunted(program: ScopeProgram) -> tuple[ScopeProgram, ...]:
    return (replace(program, bodies=(*program.bodies, RoleBody("ghost", ()))) if program.scope == ROOT else program,)


def root(*words: str) -> Situation:
    """The ring with another body of the consumer in the root."""
    return ring().body(ROOT, "consumer", *words)


def loads_of_attention(*words: str) -> Situation:
    """Attention, whose load role has a load in the root beside the loop, with another body there."""
    attention = start(kernels.attention(64, 64, 64, threads=128))
    return attention.body(ROOT, "load", *words) if words else attention


BOUNDARIES = (
    unsaid("scope-twice", ring, lambda: rewritten(split)),
    unsaid("unknown-scope", ring, lambda: ring().programs(*ring().schedule.scopes, ScopeProgram("nowhere", ()))),
    unsaid("body-twice", ring, lambda: rewritten(doubled)),
    unsaid("unknown-role", ring, lambda: rewritten(haunted)),
    unsaid("empty-root-body", ring, lambda: ring().role("idle", lo=5, hi=6, registers=24)),
    unsaid("never-entered", loads_of_attention, lambda: loads_of_attention("acquire:qs", "copy_q", "commit:qs")),
    unsaid(
        "empty-body",
        ring_with_store,
        lambda: ring_with_store().body(ROOT, "store", "k", "wait:cs", "store_c", "release:cs"),
    ),
    unsaid("placed-twice", ring, lambda: root("clear", "k", "relu", "relu", "stage_c", "store_c")),
    unsaid("unknown-statement", ring, lambda: root("clear", "k", "relu", "stage_c", "store_c", "nothing")),
    unsaid("wrong-scope", ring, lambda: ring().body("k", "consumer", "clear", "wait:as_bs", "mma", "release:as_bs")),
    unsaid("not-placed", ring, lambda: root("clear", "k", "stage_c", "store_c")),
    unsaid("several-roles", peeks, lambda: peeks(twice=True)),
    Boundary(
        "placement",
        "scalar-not-defined",
        persistent,
        lambda: persistent().body("tile", "load", "row", "k"),
        about="missing",
    ),
    unsaid(
        "scalar-not-defined", persistent, lambda: persistent().body("tile", "load", "row", "k", "column"), "too late"
    ),
    Boundary("placement", "scalar-guarded", persistent, partial(persistent, guarded=True)),
)


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=str)
def test_check_refuses_what_breaks_only_this_rule(boundary: Boundary) -> None:
    assert_checked(boundary)


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=str)
def test_build_forbids_what_check_refuses(boundary: Boundary) -> None:
    assert_built(boundary)


@pytest.mark.parametrize(("without", "status"), [((), EngineStatus.INFEASIBLE), (("placement",), EngineStatus.OPTIMAL)])
def test_build_leaves_no_statement_out(without: tuple[str, ...], status: EngineStatus) -> None:
    enc = build_model(replace(ring().problem, relaxed=without))
    enc.model.objectives = []
    enc.model.any_of([literal.negated() for (op, _), literal in enc.place.items() if op == "relu"])
    assert engine().solve(enc.model, Budget()).status is status


@pytest.mark.parametrize(("without", "status"), [((), EngineStatus.INFEASIBLE), (("placement",), EngineStatus.OPTIMAL)])
def test_build_gives_a_warpgroup_product_to_no_single_warp(without: tuple[str, ...], status: EngineStatus) -> None:
    pins = Pins(placements=tuple(PlacementPin(op.id, "load") for op in ring().problem.graph.ops))
    enc = build_model(replace(ring().problem.with_pins(pins), relaxed=(*without, "warp_ranges", "register_need")))
    enc.model.objectives = []
    assert engine().solve(enc.model, Budget()).status is status


def test_a_pin_that_keeps_a_scalar_from_its_users_is_infeasible_with_a_reason() -> None:
    pins = Pins(placements=(PlacementPin("column", "consumer"),))
    verdict = solve(persistent().problem.with_pins(pins))
    assert isinstance(verdict, Infeasible)
    (conflict,) = verdict.conflicts
    assert conflict.family == "placement"
    assert "load runs copy_b, which uses bx, but column runs in another role" in conflict.message


def test_explain_names_the_scalar_under_a_guard() -> None:
    (fact,) = family("placement").explain(persistent(guarded=True).problem, None)
    assert "by, which is defined only under a guard" in fact.note
