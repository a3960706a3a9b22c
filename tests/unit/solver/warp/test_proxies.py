"""Slots that bulk copies refill are given back behind a fence, once a release, and nowhere else."""

import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pytest

from tests import kernels
from tests.kernels import Sketch
from warpwright.solver.candidates.sketch import sketch
from warpwright.solver.candidates.structures import space_of
from warpwright.solver.domain import (
    ROOT,
    DepthPin,
    Fence,
    Instruction,
    KernelGraph,
    Memory,
    OpKind,
    OpRef,
    Pins,
    RoleBody,
    ScopeProgram,
    Sync,
    SyncKind,
    WarpSchedule,
    dumps,
    loads,
)
from warpwright.solver.domain.verdict import Feasible, ProvenOptimal
from warpwright.solver.engines import Budget
from warpwright.solver.engines import engine as engine_named
from warpwright.solver.forecast import baseline_schedule, simulate
from warpwright.solver.profiles import load_profile
from warpwright.solver.warp.decode import decode
from warpwright.solver.warp.fallback_schedules import baselines
from warpwright.solver.warp.families import family
from warpwright.solver.warp.problem import WarpProblem, close_problem
from warpwright.solver.warp.schedule_reader import Reading
from warpwright.solver.warp.solve import build_model, solve, starting_point
from warpwright.solver.warp.timing import loop_times
from warpwright.solver.warp.verify import verify

H200 = load_profile("h200")
WAIT, RELEASE = SyncKind.CONSUMER_WAIT, SyncKind.CONSUMER_RELEASE


@cache
def solved(graph: KernelGraph, pins: Pins | None = None) -> WarpSchedule:
    verdict = solve(close_problem(graph, H200, pins))
    assert isinstance(verdict, ProvenOptimal | Feasible), verdict
    assert isinstance(verdict.schedule, WarpSchedule)
    return verdict.schedule


def fences(schedule: WarpSchedule) -> list[tuple[str, str, str]]:
    """Scope, role and pipeline of every fence."""
    return [
        (program.scope, body.role, entry.pipeline)
        for program in schedule.scopes
        for body in program.bodies
        for entry in body.instructions
        if isinstance(entry, Fence)
    ]


def rules(graph: KernelGraph, schedule: WarpSchedule) -> set[str]:
    found = verify(graph, H200, schedule)
    return {violation.rule for violation in found if violation.family == "proxy_fences"}


def with_body(schedule: WarpSchedule, scope: str, role: str, *body: Instruction) -> WarpSchedule:
    programs = tuple(
        ScopeProgram(
            p.scope, tuple(RoleBody(b.role, body) if (p.scope, b.role) == (scope, role) else b for b in p.bodies)
        )
        for p in schedule.scopes
    )
    return replace(schedule, scopes=programs)


def without_fences(schedule: WarpSchedule) -> WarpSchedule:
    for program in schedule.scopes:
        for body in program.bodies:
            kept = tuple(entry for entry in body.instructions if not isinstance(entry, Fence))
            schedule = with_body(schedule, program.scope, body.role, *kept)
    return schedule


def two_tiles(*, apart: bool = False) -> KernelGraph:
    """Two tiles that one operation reads, or one operation each."""
    s = Sketch("two_tiles", 128)
    for name in ("Xs", "Zs"):
        s.buffer(name, Memory.SHARED, (64, 32), "float32")
    for name in ("x", "z"):
        s.buffer(name, Memory.FRAGMENT, (64, 32), "float32")
    s.loop("k", 64)
    s.load("copy_x", "Xs", "k", source="X")
    s.load("copy_z", "Zs", "k", source="Z")
    if apart:
        s.each("use_x", ["Xs"], ["x"], "k", floats=4096)
        s.each("use_z", ["Zs"], ["z"], "k", floats=4096)
    else:
        s.each("use_both", ["Xs", "Zs"], ["x", "z"], "k", floats=4096)
    return s.graph()


def product(rows: int) -> KernelGraph:
    """A product with so many rows: with fewer than 64, warps read the tiles through registers."""
    s = Sketch("product", 128)
    s.buffer("As", Memory.SHARED, (rows, 64))
    s.buffer("Bs", Memory.SHARED, (64, 64))
    s.buffer("acc", Memory.FRAGMENT, (rows, 64), "float32")
    s.fill("clear", "acc")
    s.loop("k", 32)
    s.load("copy_a", "As", "k")
    s.load("copy_b", "Bs", "k")
    s.gemm("mma", "As", "Bs", "acc", (rows, 64, 64), "k")
    return s.graph()


def test_the_solver_fences_each_release_once() -> None:
    graph = kernels.scattered()
    schedule = solved(graph)
    assert sorted(fences(schedule)) == [("k", "consumer", "xs"), (ROOT, "consumer", "ss")]
    assert verify(graph, H200, schedule) == ()
    body = schedule.program("k").body("consumer")
    assert body[:4] == (Sync(WAIT, "xs"), OpRef("scale"), Fence("xs"), Sync(RELEASE, "xs"))


@pytest.mark.parametrize("kind", ["default", "role_based"])
def test_the_compilers_own_choices_are_forecast_with_the_fences_that_their_builds_get(kind: str) -> None:
    graph = kernels.scattered()
    loop = next(scope for scope in graph.scopes if scope.id == "k")
    graph = replace(graph, scopes=tuple(replace(s, num_stages=2) if s is loop else s for s in graph.scopes))
    schedule = baseline_schedule(graph, H200, kind)  # type: ignore[arg-type]  # one of the literals
    assert schedule is not None
    assert ("k", "consumer", "xs") in fences(schedule)
    assert rules(graph, schedule) == set()


def test_simple_schedules_and_sketches_have_their_fences() -> None:
    graph = kernels.scattered()
    problem = close_problem(graph, H200)
    made = next(iter(baselines(problem)))
    space = space_of(graph)
    drawn = sketch(space, next(iter(space.base(H200, 1, Pins()))), problem)
    for schedule in (made, drawn):
        assert len(fences(schedule)) == 2
        assert rules(graph, schedule) == set()


@pytest.mark.parametrize("name", ["gemm", "persistent_gemm", "attention", "two_gemms", "filled_twice"])
def test_products_that_read_by_descriptors_need_none(name: str) -> None:
    graph: KernelGraph = getattr(kernels, name)()
    assert fences(solved(graph)) == []


def test_a_product_that_reads_through_registers_needs_one() -> None:
    assert fences(solved(product(64))) == []
    assert [role for _, role, _ in fences(solved(product(32)))] == ["consumer"]


def test_merged_tiles_and_releases_side_by_side_share_a_fence() -> None:
    for merged in (True, False):
        schedule = solved(two_tiles(), Pins(merged_pipelines=merged))
        assert len(schedule.pipelines) == (1 if merged else 2)
        assert len(fences(schedule)) == 1
        assert rules(two_tiles(), schedule) == set()
    assert len(fences(solved(two_tiles(apart=True), Pins(merged_pipelines=False)))) == 2


SCALE = OpRef("scale")


@pytest.mark.parametrize(
    ("rule", "body"),
    [
        ("release-unfenced", (Sync(WAIT, "xs"), SCALE, Sync(RELEASE, "xs"), OpRef("store_y"))),
        ("release-unfenced", (Sync(WAIT, "xs"), Fence("xs"), SCALE, Sync(RELEASE, "xs"), OpRef("store_y"))),
        ("release-unfenced", (Sync(WAIT, "xs"), SCALE, Sync(RELEASE, "xs"), Fence("xs"), OpRef("store_y"))),
        ("fence-outside-span", (Sync(WAIT, "xs"), SCALE, Sync(RELEASE, "xs"), Fence("xs"), OpRef("store_y"))),
        (
            "fence-outside-span",
            (Fence("xs"), Sync(WAIT, "xs"), SCALE, Fence("xs"), Sync(RELEASE, "xs"), OpRef("store_y")),
        ),
        ("fence-outside-span", (Sync(WAIT, "xs"), SCALE, Fence("no"), Sync(RELEASE, "xs"), OpRef("store_y"))),
    ],
)
def test_a_wound_is_named(rule: str, body: tuple[Instruction, ...]) -> None:
    graph = kernels.scattered()
    assert rule in rules(graph, with_body(solved(graph), "k", "consumer", *body))


def test_the_producer_has_nothing_to_fence() -> None:
    graph = kernels.scattered()
    schedule = solved(graph)
    body = schedule.program("k").body("load")
    assert "fence-outside-span" in rules(graph, with_body(schedule, "k", "load", *body[:2], Fence("xs"), *body[2:]))


def test_a_fence_helps_the_spans_of_its_own_stage_only() -> None:
    """At another stage it runs in other steps than the release: the last ones behind the loop would have none."""
    graph = two_tiles(apart=True)
    schedule = solved(graph, Pins(merged_pipelines=False))

    def body(stage: int) -> tuple[Instruction, ...]:
        waits = (Sync(WAIT, "xs"), OpRef("use_x"), Sync(WAIT, "zs", stage), OpRef("use_z"))
        return (*waits, Fence("xs"), Sync(RELEASE, "xs"), Sync(RELEASE, "zs", stage))

    assert rules(graph, with_body(schedule, "k", "consumer", *body(0))) == set()
    assert rules(graph, with_body(schedule, "k", "consumer", *body(1))) == {"release-unfenced"}


def test_the_compiler_fences_where_the_reader_also_writes() -> None:
    """TileLang's own fence stands before a release of a role that wrote the buffer; a second one would be for nothing."""
    s = Sketch("in_place", 128)
    s.buffer("Xs", Memory.SHARED, (64, 32), "float32")
    s.loop("k", 64)
    s.load("copy_x", "Xs", "k", source="X")
    s.each("double", ["Xs"], ["Xs"], "k", floats=2048)
    s.store("store_x", "Xs", "k")
    assert fences(solved(s.graph())) == []


def test_a_bulk_store_of_a_bulk_filled_slot_needs_none() -> None:
    s = Sketch("copied", 128)
    s.buffer("Xs", Memory.SHARED, (64, 32), "float32")
    s.loop("k", 64)
    s.load("copy_x", "Xs", "k", source="X")
    s.store("store_x", "Xs", "k")
    schedule = solved(s.graph())
    assert len(schedule.pipelines) == 1
    assert fences(schedule) == []


def test_old_documents_load_and_are_refused_by_the_rule() -> None:
    graph = kernels.scattered()
    old = json.loads(dumps(without_fences(solved(graph))))
    schedule = loads(WarpSchedule, json.dumps(old))
    assert isinstance(schedule, WarpSchedule)
    assert rules(graph, schedule) == {"release-unfenced"}
    fenced = loads(WarpSchedule, dumps(solved(graph)))
    assert fenced == solved(graph)


def test_a_fence_delays_the_release_in_the_account_and_the_stream_in_the_forecast() -> None:
    graph = kernels.scattered()
    problem = close_problem(graph, H200)
    cost = problem.device.proxy_fence_cycles
    assert cost > 0
    one = next(iter(baselines(problem)))

    def interval(closed: WarpProblem) -> int:
        return loop_times(Reading(closed, one))[0].interval

    free = problem.on(replace(problem.device, proxy_fence_cycles=0))
    assert interval(problem) - interval(free) == cost  # depth one: load, use, fence and release stand in one ring
    assert simulate(graph, H200, one).cycles > simulate(graph, H200, without_fences(one)).cycles


@pytest.mark.parametrize("merged", [True, False])
@pytest.mark.parametrize("graph", [two_tiles(), two_tiles(apart=True), product(32)], ids=["both", "apart", "product"])
def test_the_searched_interval_comes_out_again(graph: KernelGraph, merged: bool) -> None:
    """Whatever shares a pipeline: the engine's interval and length are those of the schedule that it stands for."""
    loaded = [op.writes[0].buffer for op in graph.ops if op.kind is OpKind.TMA_LOAD]
    for depth in (1, 2, 3):
        pins = Pins(depths=tuple(DepthPin(name, depth) for name in loaded), merged_pipelines=merged)
        problem = close_problem(graph, H200, pins)
        enc = build_model(problem)
        found = engine_named("cpsat").solve(enc.model, Budget(), starting_point(enc))
        assert found.values is not None
        (time,) = loop_times(Reading(problem, decode(enc, found.values)))
        searched = found.values[enc.interval["k"].index], found.values[enc.length["k"].index]
        assert (time.interval, time.length) == searched


@pytest.mark.parametrize("reading", [False, True])
def test_the_family_says_what_it_counts(reading: bool) -> None:
    graph = kernels.scattered()
    problem = close_problem(graph, H200)
    explain: Callable[..., tuple[object, ...]] = family("proxy_fences").explain
    (fact,) = explain(problem, Reading(problem, solved(graph)) if reading else None)
    assert "fences: 2" in str(fact)
    assert f"{problem.device.proxy_fence_cycles} cycles each" in str(fact)
