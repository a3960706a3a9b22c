"""One solved schedule, many wounds: each mutation must be named by the family and the rule that it breaks."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pytest

from tests import kernels
from warpwright.solver.domain.kernel import KernelGraph
from warpwright.solver.domain.pins import Pins, PipelinePin
from warpwright.solver.domain.schedule import (
    Instruction,
    OpRef,
    Pipeline,
    Role,
    RoleBody,
    ScopeProgram,
    Sync,
    SyncKind,
    WarpSchedule,
)
from warpwright.solver.domain.verdict import ProvenOptimal
from warpwright.solver.profiles import load_profile
from warpwright.solver.warp.problem import close_problem
from warpwright.solver.warp.solve import solve
from warpwright.solver.warp.verify import verify

ROOT = "tl.ws_scope_root"
ACQUIRE, COMMIT = SyncKind.PRODUCER_ACQUIRE, SyncKind.PRODUCER_COMMIT
WAIT, RELEASE = SyncKind.CONSUMER_WAIT, SyncKind.CONSUMER_RELEASE


@cache
def solved(name: str) -> tuple[KernelGraph, WarpSchedule]:
    graph: KernelGraph = getattr(kernels, name)()
    verdict = solve(close_problem(graph, load_profile("h200")))
    assert isinstance(verdict, ProvenOptimal)
    assert isinstance(verdict.schedule, WarpSchedule)
    return graph, verdict.schedule


def rules(name: str, schedule: WarpSchedule) -> set[str]:
    found = verify(solved(name)[0], load_profile("h200"), schedule)
    return {f"{violation.family}/{violation.rule}" for violation in found}


def with_role(schedule: WarpSchedule, name: str, **changes: int) -> WarpSchedule:
    roles = tuple(
        Role(
            role.name,
            changes.get("warps_lo", role.warps_lo),
            changes.get("warps_hi", role.warps_hi),
            changes.get("registers_per_thread", role.registers_per_thread),
        )
        if role.name == name
        else role
        for role in schedule.roles
    )
    return replace(schedule, roles=roles)


def with_pipeline(schedule: WarpSchedule, name: str, **changes: object) -> WarpSchedule:
    pipelines = tuple(replace(p, **changes) if p.name == name else p for p in schedule.pipelines)  # type: ignore[arg-type]  # fields by name
    return replace(schedule, pipelines=pipelines)


def with_body(schedule: WarpSchedule, scope: str, role: str, *body: Instruction) -> WarpSchedule:
    programs = []
    for program in schedule.scopes:
        bodies = [b for b in program.bodies if program.scope != scope or b.role != role]
        if program.scope == scope and body:
            bodies.append(RoleBody(role, body))
        programs.append(ScopeProgram(program.scope, tuple(bodies)))
    return replace(schedule, scopes=tuple(programs))


def sync(kind: SyncKind, pipeline: str, stage: int = 0) -> Sync:
    return Sync(kind, pipeline, stage)


@pytest.mark.parametrize("name", ["gemm", "attention", "persistent_gemm", "two_gemms"])
def test_what_the_solver_says_is_legal(name: str) -> None:
    assert rules(name, solved(name)[1]) == set()


@pytest.mark.parametrize(
    ("rule", "wound"),
    [
        ("warp_ranges/warps-multiple-of-four", lambda s: replace(s, num_warps=13)),
        ("warp_ranges/too-many-threads", lambda s: replace(s, num_warps=36)),
        ("warp_ranges/range-outside-block", lambda s: with_role(s, "load", warps_lo=8, warps_hi=13)),
        ("warp_ranges/ranges-overlap", lambda s: with_role(s, "load", warps_lo=7, warps_hi=8)),
        ("warp_ranges/wgmma-alignment", lambda s: with_role(s, "consumer", warps_lo=2, warps_hi=8)),
        ("warp_ranges/wgmma-alignment", lambda s: with_role(s, "consumer", warps_lo=0, warps_hi=6)),
        ("register_pool/budget-value", lambda s: with_role(s, "consumer", registers_per_thread=233)),
        ("register_pool/budget-value", lambda s: with_role(s, "load", registers_per_thread=16)),
        ("register_pool/zero-and-positive", lambda s: with_role(s, "consumer", registers_per_thread=0)),
        ("register_pool/pool-exceeded", lambda s: with_role(s, "load", registers_per_thread=40)),
        ("register_need/role-budget", lambda s: with_role(s, "consumer", registers_per_thread=152)),
        ("shared_memory/over-capacity", lambda s: with_pipeline(s, "as_bs", depth=4)),
        ("pipelines/depth-below-one", lambda s: with_pipeline(s, "as_bs", depth=0)),
        ("pipelines/unknown-buffer", lambda s: with_pipeline(s, "as_bs", buffers=("As", "Bs", "Zs"))),
        ("pipelines/private-buffer", lambda s: with_pipeline(s, "as_bs", buffers=("As", "Bs", "acc"))),
        ("pipelines/buffer-twice", lambda s: with_pipeline(s, "as_bs", buffers=("As", "Bs", "As"))),
        ("hand_offs/no-pipeline", lambda s: with_pipeline(s, "as_bs", buffers=("As",))),
        ("pipelines/one-scope", lambda s: replace(s, pipelines=(*s.pipelines, Pipeline("more", ("Cs",), 1)))),
        ("placement/not-placed", lambda s: with_body(s, ROOT, "consumer", OpRef("k"), OpRef("stage_c"))),
        ("placement/unknown-statement", lambda s: with_body(s, ROOT, "load", OpRef("k"), OpRef("nothing"))),
        ("placement/wrong-scope", lambda s: with_body(s, ROOT, "load", OpRef("k"), OpRef("mma"))),
        ("placement/never-entered", lambda s: with_body(s, ROOT, "load", OpRef("store_c"))),
        ("placement/empty-root-body", lambda s: with_body(s, ROOT, "load")),
        ("placement/several-roles", lambda s: with_body(s, ROOT, "load", OpRef("k"), OpRef("stage_c"))),
    ],
)
def test_a_wound_of_the_gemm_is_named(rule: str, wound: Callable[[WarpSchedule], WarpSchedule]) -> None:
    assert rule in rules("gemm", wound(solved("gemm")[1]))


def loop_body(*body: Instruction) -> Callable[[WarpSchedule], WarpSchedule]:
    return lambda schedule: with_body(schedule, "k", "consumer", *body)


MMA = OpRef("mma")


@pytest.mark.parametrize(
    ("rule", "wound"),
    [
        ("pipelines/left-open", loop_body(sync(WAIT, "as_bs"), MMA)),
        ("pipelines/closed-unopened", loop_body(MMA, sync(RELEASE, "as_bs"))),
        ("pipelines/opened-twice", loop_body(sync(WAIT, "as_bs"), sync(WAIT, "as_bs"), MMA, sync(RELEASE, "as_bs"))),
        ("pipelines/outside-span", loop_body(MMA, sync(WAIT, "as_bs"), sync(RELEASE, "as_bs"))),
        ("pipelines/no-work", loop_body(MMA, sync(WAIT, "as_bs"), sync(RELEASE, "as_bs"))),
        ("pipelines/unknown-pipeline", loop_body(sync(WAIT, "zz"), MMA, sync(RELEASE, "zz"))),
        (
            "pipelines/one-producer-one-consumer",
            loop_body(sync(ACQUIRE, "as_bs"), MMA, sync(COMMIT, "as_bs")),
        ),
        (
            "pipelines/parity-diverges",
            loop_body(
                *(sync(WAIT, "as_bs"), MMA, sync(RELEASE, "as_bs")),
                *(sync(WAIT, "as_bs"), sync(RELEASE, "as_bs")),
            ),
        ),
        ("body_order/pair-shares-stage", loop_body(sync(WAIT, "as_bs"), MMA, sync(RELEASE, "as_bs", 1))),
    ],
)
def test_a_broken_span_is_named(rule: str, wound: Callable[[WarpSchedule], WarpSchedule]) -> None:
    assert rule in rules("gemm", wound(solved("gemm")[1]))


def test_a_load_in_the_consumers_span_is_seen_by_no_barrier() -> None:
    """TileLang refuses it: an unmatched transaction count would hang the barrier."""
    _, schedule = solved("gemm")
    producer = (sync(ACQUIRE, "as_bs"), OpRef("copy_b"), sync(COMMIT, "as_bs"))
    consumer = (sync(WAIT, "as_bs"), OpRef("copy_a"), MMA, sync(RELEASE, "as_bs"))
    moved = with_body(with_body(schedule, "k", "load", *producer), "k", "consumer", *consumer)
    assert "pipelines/asynchronous-unobserved" in rules("gemm", moved)


def attention_body(*order: str, late: str = "") -> tuple[Instruction, ...]:
    """A consumer body of attention; ``late`` names the pipeline whose span runs at stage 1."""
    made: list[Instruction] = []
    for word in order:
        kind, _, pipeline = word.partition(":")
        if pipeline:
            made.append(sync({"wait": WAIT, "release": RELEASE}[kind], pipeline, int(pipeline == late)))
        else:
            made.append(OpRef(word))
    return tuple(made)


SOFTMAX = ("keep_max", "new_max", "factor", "exponent", "sum", "total")
QK = ("clear_scores", "wait:ks", "qk", "release:ks")
PV = ("wait:vs", "pv", "release:vs")


def test_the_cast_before_the_late_product_computes_with_the_wrong_iteration() -> None:
    body = attention_body(*QK, *SOFTMAX, "scale", "cast", *PV, late="vs")
    found = rules("attention", with_body(solved("attention")[1], "k", "consumer", *body))
    assert "body_order/order-breaks-dependence" in found


def test_the_late_product_before_the_cast_is_legal() -> None:
    body = attention_body(*QK, *PV, *SOFTMAX, "cast", "scale", late="vs")
    assert rules("attention", with_body(solved("attention")[1], "k", "consumer", *body)) == set()


def test_source_order_may_not_be_turned_around() -> None:
    body = attention_body(*QK, *SOFTMAX, "scale", *PV, "cast")
    found = rules("attention", with_body(solved("attention")[1], "k", "consumer", *body))
    assert "body_order/order-breaks-dependence" in found


def test_an_item_between_stages_is_named() -> None:
    graph, schedule = solved("gemm")
    split = replace(schedule, pipelines=(Pipeline("a", ("As",), 2), Pipeline("b", ("Bs",), 2)))
    producer = (
        *(sync(ACQUIRE, "a"), OpRef("copy_a"), sync(COMMIT, "a")),
        *(sync(ACQUIRE, "b"), OpRef("copy_b"), sync(COMMIT, "b")),
    )
    consumer = (sync(WAIT, "a"), sync(WAIT, "b", 1), MMA, sync(RELEASE, "a"), sync(RELEASE, "b", 1))
    wounded = with_body(with_body(split, "k", "load", *producer), "k", "consumer", *consumer)
    found = {f"{v.family}/{v.rule}" for v in verify(graph, load_profile("h200"), wounded)}
    assert "body_order/item-between-stages" in found


@pytest.mark.parametrize(("stage", "depth", "ends"), [(2, 2, False), (1, 2, True), (2, 3, True), (1, 1, False)])
def test_a_producer_that_runs_ahead_needs_the_depth_for_it(stage: int, depth: int, ends: bool) -> None:
    """Rule book 1.7: filling ``a`` at stage 0 and ``b`` at stage s with a consumer that holds both needs s + 1 versions."""
    graph = kernels.gemm(64, 64, 32, threads=128)
    producer = (
        *(sync(ACQUIRE, "a"), OpRef("copy_a"), sync(COMMIT, "a")),
        *(sync(ACQUIRE, "b", stage), OpRef("copy_b"), sync(COMMIT, "b", stage)),
    )
    consumer = (sync(WAIT, "a"), sync(WAIT, "b"), MMA, sync(RELEASE, "a"), sync(RELEASE, "b"))
    schedule = WarpSchedule(
        8,
        (Role("consumer", 0, 4, 240), Role("load", 4, 5, 24)),
        (Pipeline("a", ("As",), depth), Pipeline("b", ("Bs",), depth)),
        (
            ScopeProgram("k", (RoleBody("load", producer), RoleBody("consumer", consumer))),
            ScopeProgram(
                ROOT,
                (
                    RoleBody("load", (OpRef("k"),)),
                    RoleBody("consumer", tuple(OpRef(x) for x in ("clear", "k", "relu", "stage_c", "store_c"))),
                ),
            ),
        ),
    )
    found = {f"{v.family}/{v.rule}" for v in verify(graph, load_profile("h200"), schedule)}
    assert found == (set() if ends else {"deadlock/waits-for-ever"})


def test_a_crossed_order_of_waits_is_a_deadlock() -> None:
    _, schedule = solved("attention")
    producer = (
        *(sync(ACQUIRE, "vs"), OpRef("copy_v"), sync(COMMIT, "vs")),
        *(sync(ACQUIRE, "ks"), OpRef("copy_k"), sync(COMMIT, "ks")),
    )
    swapped = with_body(schedule, "k", "load", *producer)
    assert rules("attention", swapped) == set()
    root = (OpRef("k"), sync(ACQUIRE, "qs"), OpRef("copy_q"), sync(COMMIT, "qs"))
    assert rules("attention", with_body(schedule, ROOT, "load", *root)) == {"deadlock/waits-for-ever"}


def test_a_device_without_tma_takes_no_warp_schedule() -> None:
    graph, schedule = solved("gemm")
    found = verify(graph, load_profile("a100"), schedule)
    assert found[0].rule == "needs-tma"


def test_a_release_of_an_unfinished_product_needs_a_wait() -> None:
    graph = kernels.attention(waits=False)
    verdict = solve(close_problem(graph, load_profile("h200")))
    assert isinstance(verdict, ProvenOptimal)
    assert isinstance(verdict.schedule, WarpSchedule)
    assert verify(graph, load_profile("h200"), verdict.schedule) == ()
    body = attention_body("clear_scores", "wait:ks", "qk", "release:ks", "qk_done", *SOFTMAX, "cast", "scale", *PV)
    wounded = with_body(verdict.schedule, "k", "consumer", *body)
    found = {violation.rule for violation in verify(graph, load_profile("h200"), wounded)}
    assert found == {"release-without-wait"}


def in_pairs(*order: str) -> set[str]:
    """Rules that a consumer body of the product in pairs breaks."""
    graph = kernels.gemm_in_pairs()
    pairs = (PipelinePin(("As", "Bs")), PipelinePin(("At", "Bt")))
    verdict = solve(close_problem(graph, load_profile("h200"), Pins(pipelines=pairs)))
    assert isinstance(verdict, ProvenOptimal)
    assert isinstance(verdict.schedule, WarpSchedule)
    changed = with_body(verdict.schedule, "k", "consumer", *attention_body(*order))
    return {violation.rule for violation in verify(graph, load_profile("h200"), changed)}


def test_a_wait_that_leaves_a_product_in_flight_ends_only_those_before_it() -> None:
    begun = ("wait:as_bs", "even", "wait:at_bt", "odd")
    assert in_pairs(*begun, "even_done", "release:as_bs", "odd_done", "release:at_bt") == set()
    assert in_pairs(*begun, "even_done", "release:as_bs", "release:at_bt", "odd_done") == {"release-without-wait"}
    early = ("wait:as_bs", "even", "even_done", "release:as_bs", "wait:at_bt", "odd", "odd_done", "release:at_bt")
    assert in_pairs(*early) == {"release-without-wait", "order-breaks-dependence"}


def test_more_versions_than_iterations_are_refused() -> None:
    graph = kernels.gemm(128, 128, 64, trips=2)
    verdict = solve(close_problem(graph, load_profile("h200")))
    assert isinstance(verdict, ProvenOptimal)
    assert isinstance(verdict.schedule, WarpSchedule)
    assert verdict.schedule.pipelines[0].depth == 2
    found = verify(graph, load_profile("h200"), with_pipeline(verdict.schedule, "as_bs", depth=3))
    assert [violation.rule for violation in found] == ["deeper-than-trips"]


def test_a_guarded_scalar_does_not_serve_its_users() -> None:
    graph, schedule = solved("persistent_gemm")
    ops = tuple(replace(op, guarded=True) if op.id == "row" else op for op in graph.ops)
    found = verify(replace(graph, ops=ops), load_profile("h200"), schedule)
    assert {violation.rule for violation in found} == {"scalar-guarded"}


def test_a_role_defines_the_scalars_it_uses() -> None:
    _, schedule = solved("persistent_gemm")
    assert "placement/scalar-not-defined" in rules(
        "persistent_gemm", with_body(schedule, "tile", "load", OpRef("row"), OpRef("k"))
    )
