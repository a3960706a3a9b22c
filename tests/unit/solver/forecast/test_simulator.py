"""Played schedules: what must hold of any forecast, and the effects that an engineer expects to see."""

from dataclasses import replace
from itertools import pairwise

import pytest

from benchmarks.kernels.graphs import attention_graph, gemm_graph
from benchmarks.ranking import schedule_of
from tests import kernels
from warpwright.solver.device.machine import machine
from warpwright.solver.device.traffic import misses
from warpwright.solver.device.trips import count_trips
from warpwright.solver.domain import (
    ROOT,
    BaselineKind,
    CandidateKind,
    Issue,
    KernelGraph,
    Op,
    OpKind,
    OpRef,
    Scope,
    Sync,
    SyncKind,
    WarpSchedule,
)
from warpwright.solver.forecast import baseline_schedule, forecast_baseline, simulate
from warpwright.solver.profiles import load_profile
from warpwright.solver.warp.verify import verify

H200 = load_profile("h200")


def gemm(depth: int, *, bn: int = 256, warpgroups: int = 2, k: int = 4096) -> tuple[KernelGraph, WarpSchedule]:
    graph = gemm_graph(4096, 4096, k, 128, bn, 64, depth, warpgroups)
    return graph, schedule_of(graph, depth, warpgroups, 24, 240)


def test_equal_inputs_give_equal_simulations() -> None:
    graph, schedule = gemm(3)
    assert simulate(graph, H200, schedule) == simulate(graph, H200, schedule)


def test_no_unit_is_busier_than_possible_and_time_respects_the_tensor_core() -> None:
    for warpgroups, bm in ((2, 128), (3, 192)):
        graph = attention_graph(4, 16, 4096, 128, bm, 128, 2, warpgroups)
        played = simulate(graph, H200, schedule_of(graph, 2, warpgroups, 24, 160))
        assert all(0.0 < share <= 1.0 + 1e-6 for share in played.utilisation.values())
        assert sum(stall.share for stall in played.stalls if stall.role == "consumer") < 1.0
        products = 2 * bm * 128 * 128 / machine(H200).tensor_rate("bfloat16")
        assert played.interval_cycles >= products


def test_a_deeper_pipeline_helps_until_latency_is_hidden() -> None:
    times = []
    for depth in (1, 2, 3, 4, 5, 6):
        graph, schedule = gemm(depth, bn=128)
        times.append(simulate(graph, H200, schedule).nanoseconds)
    assert times[0] > times[1] > times[2]
    assert times[5] == pytest.approx(times[4], rel=0.05)


def test_the_steady_state_is_extrapolated_as_if_all_iterations_were_played() -> None:
    short, schedule = gemm(3, k=64 * 24)
    long, _ = gemm(3, k=64 * 200)
    few, many = simulate(short, H200, schedule), simulate(long, H200, schedule)
    assert many.interval_cycles == pytest.approx(few.interval_cycles, rel=0.02)
    assert many.block_cycles - few.block_cycles == pytest.approx(176 * many.interval_cycles, rel=0.02)


def test_waves_and_tail_are_whole_blocks() -> None:
    sms = machine(H200).sms
    schedule = gemm(3)[1]
    one = gemm_graph(128 * sms, 256, 4096, 128, 256, 64, 3, 2)
    more = gemm_graph(128 * (sms + 1), 256, 4096, 128, 256, 64, 3, 2)
    first, second = simulate(one, H200, schedule), simulate(more, H200, schedule)
    assert first.waves == 1.0
    assert second.cycles == pytest.approx(2 * first.cycles, rel=0.05)


def test_too_few_registers_serialise_the_products() -> None:
    graph = attention_graph(4, 16, 4096, 128, 192, 128, 2, 3)
    fits = simulate(graph, H200, schedule_of(graph, 2, 3, 24, 160))
    spills = simulate(graph, H200, schedule_of(graph, 2, 3, 0, 0))
    assert not fits.serialised
    assert spills.serialised
    assert spills.spilled_registers > 0
    assert spills.nanoseconds > 1.5 * fits.nanoseconds
    assert "serialised" in spills.reasons[0]


def test_a_pipeline_that_is_never_released_deadlocks_and_says_who_waits() -> None:
    graph = attention_graph(1, 1, 1024, 128, 128, 128, 2, 2)
    played = simulate(graph, H200, _without(schedule_of(graph, 2, 2, 24, 240), SyncKind.CONSUMER_RELEASE, "ks"))
    assert played.deadlocked
    assert "load waits for empty:ks" in played.deadlock
    assert played.nanoseconds == 0.0


def test_a_pipeline_that_is_never_committed_deadlocks() -> None:
    graph = attention_graph(1, 1, 1024, 128, 128, 128, 2, 2)
    played = simulate(graph, H200, _without(schedule_of(graph, 2, 2, 24, 240), SyncKind.PRODUCER_COMMIT, "vs"))
    assert "consumer.0 waits for full:vs" in played.deadlock
    assert "consumer.1 waits for full:vs" in played.deadlock


def _without(schedule: WarpSchedule, kind: SyncKind, pipeline: str) -> WarpSchedule:
    """The schedule with one kind of synchronisation of one pipeline left out."""
    programs = []
    for program in schedule.scopes:
        bodies = tuple(
            replace(
                body,
                instructions=tuple(
                    e
                    for e in body.instructions
                    if not (isinstance(e, Sync) and (e.sync, e.pipeline) == (kind, pipeline))
                ),
            )
            for body in program.bodies
        )
        programs.append(replace(program, bodies=bodies))
    return replace(schedule, scopes=tuple(programs))


def test_symbolic_extents_are_estimated_and_named() -> None:
    graph, schedule = gemm(3)
    scopes = tuple(replace(s, trips=None) if s.id == "k" else s for s in graph.scopes)
    played = simulate(replace(graph, scopes=scopes, grid=(None, 32)), H200, schedule)
    assert any("grid" in reason and "k" in reason for reason in played.reasons)
    assert played.nanoseconds > 0


def test_trips_follow_from_how_often_a_launch_runs_an_operation() -> None:
    graph, schedule = gemm(3)
    blocks = 16 * 32
    ops = tuple(replace(op, runs=blocks * 64) if op.scope == "k" else op for op in graph.ops)
    hidden: tuple[Scope, ...] = tuple(replace(s, trips=None) if s.id == "k" else s for s in graph.scopes)
    symbolic = replace(graph, ops=ops, scopes=hidden)
    assert simulate(symbolic, H200, schedule).nanoseconds == pytest.approx(simulate(graph, H200, schedule).nanoseconds)


def test_timeline_lanes_do_not_overlap_themselves() -> None:
    graph, schedule = gemm(3)
    played = simulate(graph, H200, schedule)
    lanes = {event.lane for event in played.events}
    assert {"consumer.0", "consumer.1", "load", "tma"} <= lanes
    for lane in lanes - {"tma", "arrival"}:
        events = [event for event in played.events if event.lane == lane]
        assert all(a.end <= b.start + 1e-6 for a, b in pairwise(events)), lane


def test_role_based_has_a_pipeline_a_buffer_and_a_store_role() -> None:
    graph = gemm_graph(4096, 4096, 4096, 128, 128, 64, 3, 2)
    schedule = baseline_schedule(graph, H200, CandidateKind.ROLE_BASED)
    assert schedule is not None
    assert [(role.name, role.warps, role.registers_per_thread) for role in schedule.roles] == [
        ("consumer", 8, 240),
        ("load", 1, 24),
        ("store", 1, 24),
    ]
    assert [(p.name, p.depth) for p in schedule.pipelines] == [("as", 3), ("bs", 3), ("cs", 1)]


def test_role_based_halves_registers_when_it_guesses_two_blocks_on_an_sm() -> None:
    graph = attention_graph(4, 16, 8192, 128, 128, 64, 1, 2)
    schedule = baseline_schedule(graph, H200, CandidateKind.ROLE_BASED)
    assert schedule is not None
    assert schedule.role("consumer").registers_per_thread == 104
    assert forecast_baseline(graph, H200, CandidateKind.ROLE_BASED).serialised


def test_the_default_puts_a_producer_warpgroup_in_front_and_one_barrier_for_a_product() -> None:
    graph = gemm_graph(4096, 4096, 4096, 128, 256, 64, 3, 2)
    schedule = baseline_schedule(graph, H200, CandidateKind.DEFAULT)
    assert schedule is not None
    assert (schedule.roles[0].name, schedule.roles[0].warps_lo, schedule.roles[0].warps_hi) == ("load", 0, 4)
    assert schedule.role("consumer").registers_per_thread == 240
    assert [p.buffers for p in schedule.pipelines] == [("As", "Bs")]


def test_nothing_is_specialised_without_tma_or_by_request() -> None:
    graph = gemm_graph(4096, 4096, 4096, 128, 128, 64, 3, 2)
    assert baseline_schedule(graph, H200, CandidateKind.UNSPECIALIZED) is None
    assert baseline_schedule(graph, load_profile("a100"), CandidateKind.DEFAULT) is None
    assert forecast_baseline(graph, load_profile("a100"), CandidateKind.DEFAULT).nanoseconds > 0


def test_unspecialised_blocks_share_an_sm_when_two_fit() -> None:
    two = forecast_baseline(gemm_graph(8192, 8192, 8192, 128, 128, 64, 2, 2), H200, CandidateKind.UNSPECIALIZED)
    one = forecast_baseline(gemm_graph(8192, 8192, 8192, 128, 128, 64, 4, 2), H200, CandidateKind.UNSPECIALIZED)
    assert (two.blocks_per_sm, one.blocks_per_sm) == (2, 1)
    assert two.nanoseconds < one.nanoseconds


def test_a_kernel_without_products_or_loops_is_played_too() -> None:
    graph, _ = gemm(3)
    keep = tuple(op for op in graph.ops if op.scope != "k" and op.kind is not OpKind.GEMM)
    root = replace(graph.scopes[0], items=tuple(op.id for op in keep))
    assert forecast_baseline(replace(graph, ops=keep, scopes=(root,)), H200, CandidateKind.DEFAULT).nanoseconds > 0


def test_persistent_blocks_share_tiles_as_a_square_patch_would() -> None:
    graph = kernels.persistent_gemm()
    resident = machine(H200).sms
    missed = misses(graph, count_trips(graph, resident), resident, l2_bytes=0.0)
    assert missed
    assert all(share == pytest.approx(resident**-0.5, rel=0.01) or share < resident**-0.5 for share in missed.values())


def test_tiles_are_fetched_once_for_the_blocks_that_share_them() -> None:
    graph, _ = gemm(3)
    missed = misses(graph, count_trips(graph, 132), 132, l2_bytes=0.0)
    # A panel of ten columns: a tile of A serves 10 blocks, a tile of B the 14 rows that 132 blocks need.
    assert missed["load_a"] == pytest.approx(1 / 10)
    assert missed["load_b"] == pytest.approx(1 / 14)


def test_what_fits_the_cache_is_fetched_once() -> None:
    graph, _ = gemm(3)
    missed = misses(graph, count_trips(graph, 132), 132, l2_bytes=1e9)
    assert missed["load_a"] == pytest.approx(1 / 16)
    assert missed["load_b"] == pytest.approx(1 / 32)


def test_role_based_falls_back_where_it_cannot_hand_over() -> None:
    graph = kernels.rewrites_after_use()
    assert forecast_baseline(graph, H200, CandidateKind.ROLE_BASED).nanoseconds > 0


def test_the_steady_state_begins_when_the_pipelines_are_full_and_lasts_whole_intervals() -> None:
    graph, schedule = gemm(3)
    played = simulate(graph, H200, schedule)
    assert played.steady_cycles is not None
    begin, end = played.steady_cycles
    assert begin > played.interval_cycles, "the first loads have to arrive first"
    steps = (end - begin) / played.interval_cycles
    assert steps == pytest.approx(round(steps), rel=0.05), "each lasts the interval within a twentieth"
    assert steps >= 6


def test_a_kernel_without_a_loop_has_no_steady_state() -> None:
    straight = replace(gemm(1)[0], scopes=(Scope("tl.ws_scope_root", gemm(1)[0].scopes[0].kind, None, 1, ()),), ops=())
    played = forecast_baseline(straight, H200, CandidateKind.UNSPECIALIZED)
    assert played.steady_cycles is None


@pytest.mark.parametrize("kind", [CandidateKind.DEFAULT, CandidateKind.ROLE_BASED])
def test_the_compilers_choice_binds_scalars_in_every_role_that_uses_them(kind: BaselineKind) -> None:
    graph = gemm(3)[0]
    bind = Op("bind_bx", OpKind.BIND, ROOT, Issue.BLOCKING, 0, (), (), (), binds="bx", uses_scalars=("by",))
    inner = replace(bind, id="bind_by", binds="by", uses_scalars=())
    ops = [
        replace(op, uses_scalars=("bx",)) if op.kind in (OpKind.TMA_LOAD, OpKind.TMA_STORE) else op for op in graph.ops
    ]
    scopes = [replace(s, items=("bind_by", "bind_bx", *s.items)) if s.id == ROOT else s for s in graph.scopes]
    graph = replace(graph, ops=(inner, bind, *ops), scopes=tuple(scopes))
    schedule = baseline_schedule(graph, H200, kind)
    assert schedule is not None
    bodies = {
        body.role: [entry.id for entry in body.instructions if isinstance(entry, OpRef)]
        for body in schedule.program(ROOT).bodies
    }
    assert bodies["load"][:2] == ["bind_by", "bind_bx"], "copies use them, one through the other"
    assert verify(graph, H200, schedule) == (), "what TileLang emits and runs is legal"
