"""Drawings: lanes, phases and stalls say what the schedule says, and every name stays text."""

import re
from itertools import pairwise

import pytest

from benchmarks.kernels.graphs import gemm_graph
from benchmarks.ranking import schedule_of
from tests import kernels
from warpwright.service.drawing import (
    UNITS,
    MemoryMap,
    ResourcePart,
    Timeline,
    TimelineLane,
    TimelinePhase,
    TimelineSpan,
    block_timeline,
    draw_schedule,
    loop_timeline,
    memory_html,
    register_map,
    shared_map,
    timeline_svg,
)
from warpwright.solver.device.shared_memory import block_bytes
from warpwright.solver.domain import (
    ROOT,
    BufferSchedule,
    BufferVersions,
    ChosenBy,
    Issue,
    KernelGraph,
    LoopSchedule,
    Op,
    OpKind,
    Pipeline,
    Role,
    SchedulerCall,
    Scope,
    ScopeKind,
    TargetFamily,
    TaskTime,
    Unit,
    UnitUse,
    VersionMode,
    WarpSchedule,
)
from warpwright.solver.forecast import simulate
from warpwright.solver.profiles import load_profile

HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(2)>'
H200 = load_profile("h200")


def gemm_timeline() -> Timeline:
    graph = gemm_graph(4096, 4096, 4096, 128, 256, 64, 3, 2)
    simulation = simulate(graph, H200, schedule_of(graph, 3, 2, 24, 240), traced=True)
    return block_timeline(simulation, frozenset(op.id for op in graph.ops if op.gemm is not None))


def ascend_loop() -> tuple[KernelGraph, BufferSchedule]:
    """A copy of 100 cycles and a product of 60 that starts 110 later, one iteration every 100 cycles, two versions."""

    def op(name: str, unit: Unit, cycles: int) -> Op:
        return Op(name, OpKind.TASK, "k", Issue.BLOCKING, cycles, (UnitUse(unit, cycles),), (), ())

    call = SchedulerCall(
        "k",
        ("load", "multiply"),
        ("A_l1",),
        '{"kind": "loop", "num_stages": 2, "latencies": [110, 60], "iis": [100, 60], "resource_flags": [2, 8],'
        ' "data_deps": [[0, 1, 0, 210], [1, 0, -1, 10]], "resource_deps": [], "buffer_sizes": [4096]}',
    )
    graph = KernelGraph(
        name="toy", family=TargetFamily.ASCEND, arch="x", threads=1, grid=(1,), buffers=(),
        ops=(op("load", Unit.MTE2, 100), op("multiply", Unit.CUBE, 60)),
        scopes=(Scope(ROOT, ScopeKind.ROOT, None, 1, ("k",)), Scope("k", ScopeKind.SERIAL, ROOT, 64, ("load", "multiply"))),
        dependences=(), calls=(call,),
    )  # fmt: skip
    loop = LoopSchedule("k", 100, 270, (TaskTime("load", 0, 0), TaskTime("multiply", 210, 2)))
    versions = BufferVersions("A_l1", 3, VersionMode.ITERATION, ChosenBy.SOLVER, ChosenBy.RULE)
    return graph, BufferSchedule((versions,), (loop,))


def test_a_block_has_lanes_for_roles_units_and_every_cause_of_a_stall() -> None:
    timeline = gemm_timeline()
    groups: dict[str, list[str]] = {}
    for lane in timeline.lanes:
        groups.setdefault(lane.group, []).append(lane.name)
    assert {"consumer.0", "consumer.1", "load"} <= set(groups["Roles"])
    assert {"tensor core", "shared"} <= set(groups[UNITS])
    assert groups["In flight"] == ["tma load_a", "tma load_b"]
    assert any(name.startswith("full:") for name in groups["Stalls by cause"])
    assert not any(name.startswith("empty:") for name in groups["Stalls by cause"]), "a producer that is ahead is calm"
    assert list(groups) == ["Roles", "In flight", UNITS, "Stalls by cause"], "groups stand together"


def test_a_load_is_queued_before_it_executes_and_a_role_that_is_ahead_is_calm() -> None:
    lanes = {lane.name: lane for lane in gemm_timeline().lanes}
    load = lanes["tma load_a"].spans
    assert {span.kind for span in load} == {"queued", "copy"}
    assert all(
        one.end_cycle <= other.start_cycle for one, other in pairwise(span for span in load if span.kind == "copy")
    ), "copies execute one after the other, however many are in flight"
    assert "stall" not in {span.kind for span in lanes["load"].spans} >= {"ahead"}
    assert {span.kind for span in lanes["consumer.0"].spans} >= {"compute", "draining", "stall"}


def test_every_stall_of_a_role_is_in_its_causes_lane_too() -> None:
    timeline = gemm_timeline()
    waits = {
        (s.start_cycle, s.end_cycle)
        for lane in timeline.lanes
        if lane.group == "Roles"
        for s in lane.spans
        if s.kind == "stall"
    }
    shown = {
        (s.start_cycle, s.end_cycle) for lane in timeline.lanes if lane.group == "Stalls by cause" for s in lane.spans
    }
    assert waits == shown != set()


def test_the_steady_state_of_a_block_is_marked_where_the_simulation_says() -> None:
    graph = gemm_graph(4096, 4096, 4096, 128, 256, 64, 3, 2)
    simulation = simulate(graph, H200, schedule_of(graph, 3, 2, 24, 240))
    assert simulation.steady_cycles is not None
    prologue, steady = block_timeline(simulation).phases
    assert (prologue.name, prologue.start_cycle) == ("prologue", 0)
    assert prologue.end_cycle == steady.start_cycle == round(simulation.steady_cycles[0])
    drawing = timeline_svg(block_timeline(simulation))
    assert 'class="phase steady"' in drawing


def test_an_ascend_loop_has_its_pipes_its_phases_and_what_they_wait_for() -> None:
    graph, schedule = ascend_loop()
    timeline = loop_timeline(graph, schedule, schedule.loops[0])
    lanes = {lane.name: lane for lane in timeline.lanes}
    loads, products = lanes["mte2"].spans, lanes["cube"].spans
    assert [span.start_cycle for span in loads] == [0, 100, 200, 300, 400, 500], (
        "three stages and three steady iterations"
    )
    assert [span.start_cycle for span in products][:2] == [210, 310]
    assert timeline.phases[0] == TimelinePhase("prologue", 0, 200)
    assert timeline.phases[1] == TimelinePhase("steady state", 200, 600)
    waits = lanes["load"]
    assert waits.group == "Stalls by cause"
    assert (waits.spans[0].start_cycle, waits.spans[0].end_cycle) == (0, 210)
    assert (waits.spans[1].start_cycle, waits.spans[1].end_cycle) == (270, 310), "the cube has 40 of 100 cycles to wait"
    assert "cube waits for load" in waits.spans[0].detail
    assert "64 iterations" in timeline.title


def test_a_dependence_with_slack_is_no_cause() -> None:
    graph, schedule = ascend_loop()
    late = LoopSchedule("k", 100, 290, (TaskTime("load", 0, 0), TaskTime("multiply", 230, 2)))
    assert not [lane for lane in loop_timeline(graph, schedule, late).lanes if lane.group == "Stalls by cause"]


def test_a_straight_list_has_no_phases() -> None:
    graph, schedule = ascend_loop()
    timeline = loop_timeline(graph, schedule, LoopSchedule("k", None, 270, schedule.loops[0].tasks))
    assert timeline.phases == ()
    assert [len(lane.spans) for lane in timeline.lanes if lane.group == "Pipes"] == [1, 1]


def test_two_drawings_have_one_scale_when_asked() -> None:
    short = Timeline((TimelineLane("a", (TimelineSpan(0, 100, "x"),)),))
    assert 'data-end="400"' in timeline_svg(short, until=400)
    width = re.search(
        r'<g class="span other"[^>]*><title>[^<]*</title><rect [^>]*width="([0-9.]+)"', timeline_svg(short, until=400)
    )
    assert width is not None
    assert float(width[1]) == pytest.approx(1100 / 4, abs=1)


def test_overlapping_spans_of_a_lane_share_its_height() -> None:
    lane = TimelineLane(
        "tensor core", (TimelineSpan(0, 100, "a"), TimelineSpan(50, 150, "b"), TimelineSpan(100, 200, "c"))
    )
    tops = re.findall(
        r'<g class="span other"[^>]*><title>[^<]*</title><rect x="[^"]*" y="([^"]*)"', timeline_svg(Timeline((lane,)))
    )
    assert len(tops) == 3
    assert tops[0] == tops[2] != tops[1]


def test_nothing_to_draw_gives_no_drawing() -> None:
    assert timeline_svg(Timeline(())) == ""
    assert timeline_svg(Timeline((TimelineLane("idle", ()),))) == ""


def test_a_map_that_does_not_fit_shows_it() -> None:
    full = MemoryMap("Shared memory", "bytes", 100, (ResourcePart("a", 80), ResourcePart("b", 40)))
    assert full.slack == -20
    assert "120 of 100 bytes" in memory_html(full)
    assert ">free<" not in memory_html(full)


def test_the_map_of_shared_memory_is_the_device_models() -> None:
    graph, profile = kernels.gemm(128, 256, 64), load_profile("h200")
    schedule = WarpSchedule(12, (Role("consumer", 0, 8, 240),), (Pipeline("as_bs", ("As", "Bs"), 3),), ())
    shown = shared_map(graph, profile, schedule)
    assert shown is not None
    assert shown.used == block_bytes(graph, schedule) == 214_016
    assert [(b.label, b.amount) for b in shown.blocks if b.kind == "barrier"] == [("barriers", 1024)]
    registers = register_map(profile, schedule)
    assert registers is not None
    assert [b.label for b in registers.blocks] == [
        "warpgroup 0: consumer, 240 per thread",
        "warpgroup 1: consumer, 240 per thread",
        "warpgroup 2: idle, 240 per thread",
    ]


def test_parts_of_a_map_are_as_wide_as_they_are_large() -> None:
    drawing = memory_html(
        MemoryMap(
            "Shared memory", "bytes", 1000, (ResourcePart("As", 600, "buffer"), ResourcePart("barriers", 48, "barrier"))
        )
    )
    assert re.findall(r"flex-grow: (\d+)", drawing) == ["600", "48", "352"]


def test_hostile_names_stay_text() -> None:
    timeline = Timeline(
        (TimelineLane(HOSTILE, (TimelineSpan(0, 1000, HOSTILE, HOSTILE, HOSTILE),), HOSTILE),),
        (TimelinePhase(HOSTILE, 0, 500),),
        HOSTILE,
    )
    drawing = timeline_svg(timeline) + memory_html(
        MemoryMap(HOSTILE, HOSTILE, 100, (ResourcePart(HOSTILE, 90, HOSTILE),))
    )
    assert "<script>" not in drawing
    assert "<img" not in drawing
    assert drawing.count("&lt;script&gt;") > 6


def test_a_schedule_is_drawn_with_facts_and_maps() -> None:
    graph = gemm_graph(4096, 4096, 4096, 128, 256, 64, 3, 2)
    drawn = draw_schedule(graph, H200, schedule_of(graph, 3, 2, 24, 240))
    assert drawn.end_cycle == drawn.timelines[0].end_cycle > 0
    assert {map_.title for map_ in drawn.maps} == {"Shared memory of one block", "Registers of one block"}
    assert dict(drawn.facts)["Busiest"]


def test_spans_that_follow_each_other_are_one_row_high_however_short() -> None:
    lane = TimelineLane(
        "consumer", (TimelineSpan(0, 10, "a"), TimelineSpan(10, 10, "arrive"), TimelineSpan(10, 30, "b"))
    )
    assert (
        len(
            set(
                re.findall(
                    r'<rect x="[^"]*" y="([^"]*)" width="[^"]*" height="[^"]*" rx', timeline_svg(Timeline((lane,)))
                )
            )
        )
        == 1
    )
