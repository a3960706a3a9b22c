"""Real lowerings: every annotation form obeyed, every overflow refused with its numbers, every bad injection caught."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from warpwright.solver.ascend.kernel_events import event_use
from warpwright.solver.ascend.verify import verify_buffers
from warpwright.solver.domain import (
    BufferPin,
    BufferSchedule,
    HardwareProfile,
    KernelGraph,
    Pins,
    Proposals,
    dump,
    load,
)
from warpwright.tuning.children import Refused, Returned
from warpwright.tuning.partial_answer import kept

from .conftest import Ask, Ir

Lowered = Callable[..., dict[str, Any]]


def entries(value: dict[str, Any]) -> dict[str, tuple[int, str, str, str, bool]]:
    return {
        b["buffer"]: (b["versions"], b["mode"], b["versions_chosen_by"], b["mode_chosen_by"], b["eligible"])
        for b in value["schedule"]["buffers"]
    }


def test_the_solver_chooses_and_the_source_rotates_as_chosen(ascend_ir: Ir, lowered: Lowered) -> None:
    value = lowered(ascend_ir("vector"))
    assert entries(value) == {
        "x": (2, "iteration", "solver", "rule", True),
        "y": (1, "iteration", "solver", "rule", True),
        "z": (1, "iteration", "solver", "rule", True),
    }
    assert value["versions"] == {"x": 2, "y": 1, "z": 1}
    assert value["not_honoured"] == []
    assert value["arenas"] == {"shared": 4 * 16384}
    assert value["mark"] == "lowered, not compiled, not measured"
    assert value["certificate"]["initiation_interval_cycles"] == 941
    assert value["certificate"]["gap_cycles"] == 0
    assert value["certificate"]["verified"] is True
    assert re.search(r"\(w & 1\) \* 4096", value["source"]), "x must rotate over two slots"


def test_annotations_of_the_source_are_kept(ascend_ir: Ir, lowered: Lowered) -> None:
    counts = lowered(ascend_ir("vector", forms="counts", stages=4))
    assert {name: entry[:3] for name, entry in entries(counts).items()} == {
        "x": (3, "iteration", "user"),
        "y": (3, "iteration", "user"),
        "z": (2, "iteration", "user"),
    }
    assert "w % 3" in counts["source"]
    mixed = entries(lowered(ascend_ir("vector", forms="mixed")))
    assert mixed["x"] == (2, "counter", "user", "user", True)
    assert mixed["y"][1:] == ("iteration", "solver", "user", True)
    assert mixed["z"] == (1, "iteration", "user", "rule", True)
    out = entries(lowered(ascend_ir("vector", forms="out")))
    assert out["x"] == (1, "iteration", "user", "rule", False)


def test_pins_of_a_request_do_the_same(ascend_ir: Ir, lowered: Lowered) -> None:
    pins = Pins(buffers=(BufferPin("x", 3), BufferPin("y", None, "counter")))
    value = lowered(ascend_ir("vector"), pins)
    assert entries(value)["x"][:3] == (3, "iteration", "user")
    assert entries(value)["y"][1:4] == ("counter", "solver", "user")
    assert value["versions"]["x"] == 3


def test_overriding_an_explicit_claim_warns_once(ascend_ir: Ir, lowered: Lowered) -> None:
    value = lowered(ascend_ir("claimed"))
    assert [w for w in value["warnings"] if w.startswith("x: the count 1 overrides")] == value["warnings"]
    assert len(value["warnings"]) == 1


def test_fixed_versions_that_overflow_are_refused_with_the_sum(ascend_ir: Ir, refused: Callable[..., Refused]) -> None:
    """TileLang lowers this: its check runs only where a free buffer is left."""
    reply = refused(ascend_ir("vector", TILE=16384, forms="four"))
    assert reply.code == "ascend-infeasible"
    assert "x 4 x 65536 + y 4 x 65536 + z 4 x 65536 = 786432 bytes needed, 221184 available" in reply.message


def test_an_unlimited_memory_warns_but_lowers(ascend_ir: Ir, lowered: Lowered) -> None:
    ir = ascend_ir("vector", TILE=16384, stages=4)
    bounded = lowered(ir)
    freed = lowered(ir, Pins(unlimited_memories=("shared",)))
    assert (bounded["certificate"]["initiation_interval_cycles"], bounded["arenas"]) == (4364, {"shared": 196608})
    assert (freed["certificate"]["initiation_interval_cycles"], freed["arenas"]) == (3762, {"shared": 262144})
    assert "262144 bytes needed, 221184 available" in freed["warnings"][0]


@pytest.mark.parametrize(
    ("scope", "kernel", "sizes", "versions", "overflow"),
    [
        ("shared", "vector", {"TILE": 16384, "forms": "four"}, 0, "786432 bytes needed, 221184 available"),
        ("shared.l1", "tiles", {"M": 256}, 8, "540672 bytes needed, 524288 available"),
        ("shared.l0a", "tiles", {"M": 256, "K": 144}, 0, "73728 bytes needed, 65536 available"),
        ("shared.l0b", "tiles", {"N": 256, "K": 144}, 0, "73728 bytes needed, 65536 available"),
        ("shared.l0c", "tiles", {"M": 256, "N": 272, "K": 64}, 0, "278528 bytes needed, 262144 available"),
    ],
)
def test_a_kernel_that_fits_only_where_its_memory_is_unlimited(
    scope: str, kernel: str, sizes: dict[str, Any], versions: int, overflow: str,
    ascend_ir: Ir, lowered: Lowered, refused: Callable[..., Refused],
) -> None:  # fmt: skip
    """Refused with the sum; with the annotation it is lowered as it is, and told that the hardware's limit stays."""
    ir = ascend_ir(kernel, **sizes)
    pins = Pins(buffers=(BufferPin("A_l1", versions),) if versions else ())
    reply = refused(ir, pins)
    assert (reply.code, overflow in reply.message) == ("ascend-infeasible", True), reply
    value = lowered(ir, replace(pins, unlimited_memories=(scope,)))
    assert [warning for warning in value["warnings"] if overflow in warning], value["warnings"]
    assert overflow.startswith(f"{value['arenas'][scope]} "), "what TileLang merged"
    assert value["certificate"]["verified"] is True
    assert value["certificate"]["pins"]["unlimited_memories"] == [scope]


def test_nine_versions_of_two_tiles_are_refused_before_tilelang_lacks_event_ids(
    ascend_ir: Ir, lowered: Lowered, refused: Callable[..., Refused]
) -> None:
    """TileLang's own end was a compiler error of its last pass; what it takes for eight versions is what we count."""
    ir = ascend_ir("two_products")
    value = lowered(ir, Pins(buffers=(BufferPin("A_l1", 8), BufferPin("B_l1", 8))))
    used = event_use(load(KernelGraph, value["graph"]), load(BufferSchedule, value["schedule"]))
    assert used is not None
    taken = [int(found) for found in re.findall(r"asc_lock\(PIPE_\w+, \(\(k & 7\) \+ (\d+)\)", value["source"])]
    assert used.mutexes == max(taken) + 8 == 18
    reply = refused(ir, Pins(buffers=(BufferPin("A_l1", 9), BufferPin("B_l1", 9))))
    assert (reply.code, reply.place) == ("ascend-infeasible", "event ids")
    assert "38 mutexes needed, 32 available" in reply.message


def test_proposals_are_ordered_by_cycles_and_kept_while_the_search_goes_on(
    ascend_ir: Ir, ask: Ask, tmp_path: Path
) -> None:
    """The first variant has tiles four times as large, and as many of them."""
    large = {"variant": 0, "params": {"TILE": 16384}, "ir": ascend_ir("vector", TILE=16384)}
    small = {"variant": 1, "params": {"TILE": 4096}, "ir": ascend_ir("vector")}
    reply = ask("propose.buffer", "", kernels=[large, small], engine="cpsat", output=str(tmp_path))
    assert isinstance(reply, Returned), reply
    found = load(Proposals, reply.value["proposals"])
    assert [each.variant for each in found.candidates] == [1, 0]
    first, second = (each.forecast_cycles for each in found.candidates)
    assert first is not None
    assert second is not None
    assert first < second
    assert kept({path.name: path.read_bytes() for path in tmp_path.iterdir()}) == reply.value


def test_rings_by_hand(ascend_ir: Ir, lowered: Lowered, refused: Callable[..., Refused]) -> None:
    value = lowered(ascend_ir("ring"))
    assert entries(value)["buffer"][4] is False
    assert value["schedule"]["buffers"][0]["manual_versions"] == 2
    reply = refused(ascend_ir("ring", declared=1))
    assert reply.code == "pin-manual-too-small"
    assert "a ring of 1, but its indices use 2 versions" in reply.message


def test_loops_that_overflow_a_memory_together_are_refused(
    ascend_ir: Ir, lowered: Lowered, ask: Ask, profile: HardwareProfile
) -> None:
    """Inner B 3 x 128 KiB and outer A 2 x 128 KiB are each legal in their own loop; L1 holds 512 KiB."""
    ir = ascend_ir("two_level")
    value = lowered(ir)
    assert value["arenas"]["shared.l1"] <= 524288
    schedule = value["schedule"]
    for buffer in schedule["buffers"]:
        buffer["versions"] = {"A_l1": 2, "B_l1": 3}.get(buffer["buffer"], buffer["versions"])
    graph = load(KernelGraph, value["graph"])
    violations = verify_buffers(graph, profile, load(BufferSchedule, schedule))
    text = "l1: A_l1 2 x 131072 + B_l1 3 x 131072 = 655360 bytes needed, 524288 available"
    assert text in [violation.message for violation in violations]
    reply = ask("compile.ascend", ir, arch="dav-3510", variant="scheduled", schedule=schedule)
    assert isinstance(reply, Returned), reply
    assert reply.value["outcome"]["kind"] == "over_resource"
    assert text in reply.value["outcome"]["message"]


def test_an_injected_order_that_breaks_a_dependence_is_refused(
    ascend_ir: Ir, lowered: Lowered, ask: Ask, profile: HardwareProfile
) -> None:
    """The store is moved before the sum that it stores; TileLang would emit that program."""
    ir = ascend_ir("vector")
    value = lowered(ir)
    schedule = value["schedule"]
    for time in schedule["loops"][0]["tasks"]:
        if time["task"] == "copy_Z":
            time["start_cycle"] = 0
        else:
            time["start_cycle"] += 400
    violations = verify_buffers(load(KernelGraph, value["graph"]), profile, load(BufferSchedule, schedule))
    assert "dependence" in [violation.family for violation in violations]
    reply = ask("compile.ascend", ir, arch="dav-3510", variant="scheduled", schedule=schedule)
    assert isinstance(reply, Returned), reply
    assert reply.value["outcome"]["kind"] == "compile_failed"
    assert "copy_Z" in reply.value["outcome"]["message"]
    assert reply.value["source"] == ""


def test_a_schedule_is_materialized_compiled_and_read_back(ascend_ir: Ir, lowered: Lowered, ask: Ask) -> None:
    ir = ascend_ir("vector")
    pins = Pins(buffers=(BufferPin("y", 2),))
    schedule = lowered(ir, pins)["schedule"]
    written = ask("materialize.ascend", ir, schedule=schedule)
    assert isinstance(written, Returned), written
    assert written.value["source"] == "T.annotate_buffer_versions({x: (1, 'auto'), y: 2, z: (1, 'auto')})\n"
    built = ask("compile.ascend", written.value["ir"], arch="dav-3510", variant="scheduled", schedule=schedule)
    assert isinstance(built, Returned), built
    assert built.value["outcome"] == {
        "kind": "compiled",
        "message": "lowered, not compiled, not measured",
        "details": ["source_only"],
        "resource": "",
        "needed": None,
        "limit": None,
    }
    assert built.value["not_honoured"] == []
    assert built.value["binary"] is None
    assert re.search(r"\(w & 1\) \* 4096", built.value["source"])
    baseline = ask("compile.ascend", ir, arch="dav-3510", variant="default", schedule=None)
    assert isinstance(baseline, Returned), baseline
    assert baseline.value["outcome"]["kind"] == "compiled"


def test_wrong_pins_are_refused_by_name(ascend_ir: Ir, refused: Callable[..., Refused]) -> None:
    reply = refused(ascend_ir("vector"), Pins(buffers=(BufferPin("w", 2),)))
    assert (reply.code, reply.place) == ("pin-unknown-buffer", "w")


def test_graphs_have_pipes_ports_loops_and_closed_calls(ask: Ask, ascend_ir: Ir) -> None:
    reply = ask("frontend.read_ascend", ascend_ir("two_level"))
    assert isinstance(reply, Returned), reply
    graph = load(KernelGraph, reply.value["graph"])
    units = {op.id: [use.unit.value for use in op.uses] for op in graph.ops}
    assert units["copy_A_l1"] == ["mte2", "hbm_cube_load"]
    assert units["gemm_C_l0c"] == ["cube"]
    assert units["copy_C"] == ["fixpipe", "hbm_store"]
    assert [(scope.id, scope.parent) for scope in graph.scopes][1:] == [("i", graph.scopes[0].id), ("j", "i")]
    assert [call.scope for call in graph.calls] == ["j", "i"]
    assert {b.name: b.memory.value for b in graph.buffers}["A_l1"] == "l1"
    assert load(KernelGraph, dump(graph)) == graph
