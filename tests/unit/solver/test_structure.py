"""What follows from the placement: roles, replicated scalars, channels, and hand-offs that no pipeline can do."""

from dataclasses import replace

import pytest

from solver.channels import loop_carried
from solver.domain.errors import PinError
from solver.domain.kernel import Access, KernelGraph, Memory
from solver.domain.pins import DepthPin, Pins, PlacementPin, RolePin
from solver.domain.verdict import Infeasible, ProvenOptimal
from solver.problem import WarpProblem, close_problem
from solver.profiles import load_profile
from solver.solve import solve
from solver.structure import structure_of
from tests import kernels
from tests.kernels import Sketch

H200 = load_profile("h200")
ROOT = "tl.ws_scope_root"


def closed(graph: KernelGraph, **pins: object) -> WarpProblem:
    return close_problem(graph, H200, Pins(**pins))  # type: ignore[arg-type]  # pins by name


def conflicts(graph: KernelGraph) -> list[str]:
    return [conflict.message for conflict in structure_of(closed(graph)).conflicts]


def test_loads_go_to_the_load_role_and_the_rest_to_the_consumer() -> None:
    placement = structure_of(closed(kernels.gemm())).placement
    assert {op for op, roles in placement.items() if roles == ("load",)} == {"copy_a", "copy_b"}
    assert {roles for op, roles in placement.items() if not op.startswith("copy")} == {("consumer",)}


def test_scalars_run_where_they_are_used() -> None:
    placement = structure_of(closed(kernels.persistent_gemm())).placement
    assert placement["row"] == placement["column"] == ("consumer", "load")


def test_a_store_role_takes_the_store_and_the_scalars_it_needs() -> None:
    structure = structure_of(closed(kernels.persistent_gemm(), store_role=True))
    assert structure.roles == ("consumer", "load", "store")
    assert structure.placement["row"] == ("load", "store")
    channel = structure.channels[-1]
    assert (channel.buffer, channel.scope, channel.producer, channel.consumer) == ("Cs", "tile", "consumer", "store")


def test_a_buffer_filled_once_changes_hands_in_the_root() -> None:
    channels = {channel.buffer: channel for channel in structure_of(closed(kernels.attention())).channels}
    assert (channels["Qs"].scope, channels["Qs"].writes, channels["Qs"].reads) == (ROOT, ("copy_q",), ("k",))
    assert channels["Ks"].scope == channels["Vs"].scope == "k"


def test_tensor_memory_changes_hands_around_the_loop() -> None:
    structure = structure_of(close_problem(kernels.blackwell_gemm(), load_profile("b200")))
    channels = {channel.buffer: channel for channel in structure.channels}
    assert (channels["acc"].producer, channels["acc"].consumer, channels["acc"].writes) == ("mma", "consumer", ("k",))
    assert (channels["As"].producer, channels["As"].consumer) == ("load", "mma")


def test_consume_then_refill_is_no_hand_off() -> None:
    """TileLang issue 2668: read-after-write across the back edge; depth 2 and more were silently wrong."""
    (message,) = conflicts(kernels.rewrites_after_use())
    assert "an iteration of k earlier" in message
    verdict = solve(closed(kernels.rewrites_after_use()))
    assert isinstance(verdict, Infeasible)
    assert [conflict.family for conflict in verdict.conflicts] == ["hand_offs"]


def sibling_loops(names: tuple[str, str]) -> KernelGraph:
    s = Sketch("siblings", 128)
    for name in dict.fromkeys(names):
        s.buffer(name, Memory.SHARED, (64, 64))
    s.buffer("acc", Memory.FRAGMENT, (64, 64), "float32")
    s.fill("clear", "acc")
    for loop, name in zip(("first", "second"), names, strict=True):
        s.loop(loop, 8)
        s.load(f"copy_{loop}", name, loop)
        s.gemm(f"mma_{loop}", name, name, "acc", (64, 64, 64), loop)
    return s.graph()


def test_sibling_loops_with_one_buffer_are_named() -> None:
    """TileLang issue 2309: the shared buffer was expanded once a loop and the compiler crashed."""
    (message,) = conflicts(sibling_loops(("As", "As")))
    assert "changes hands in first and second" in message


def test_sibling_loops_with_a_buffer_each_have_depths_of_their_own() -> None:
    verdict = solve(closed(sibling_loops(("As", "Bs")), depths=(DepthPin("As", 2), DepthPin("Bs", 4))))
    assert isinstance(verdict, ProvenOptimal)


def test_a_small_load_before_the_loop_gets_a_barrier() -> None:
    """TileLang issue 2443: a pre-loop load used only in the epilogue by another role was not synchronised."""
    s = Sketch("bias", 128)
    s.buffer("bias", Memory.SHARED, (64,))
    s.buffer("As", Memory.SHARED, (64, 64))
    s.buffer("acc", Memory.FRAGMENT, (64, 64), "float32")
    s.fill("clear", "acc")
    s.load("copy_bias", "bias")
    s.loop("k", 8)
    s.load("copy_a", "As", "k")
    s.gemm("mma", "As", "As", "acc", (64, 64, 64), "k")
    s.each("add", ["acc", "bias"], ["acc"])
    channels = {channel.buffer: channel.scope for channel in structure_of(closed(s.graph())).channels}
    assert channels == {"bias": ROOT, "As": "k"}
    assert isinstance(solve(closed(s.graph())), ProvenOptimal)


def test_private_storage_never_changes_hands() -> None:
    verdict = solve(closed(kernels.gemm(), placements=(PlacementPin("stage_c", "load"),)))
    assert isinstance(verdict, Infeasible)
    assert "hand_offs" in {conflict.family for conflict in verdict.conflicts}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda op: replace(op, guarded=True), "under a guard"),
        (lambda op: replace(op, reads=(*op.reads, Access("As", 1))), "an iteration earlier"),
        (lambda op: op, ""),
    ],
)
def test_values_that_live_across_iterations_forbid_versions(change: object, reason: str) -> None:
    graph = kernels.gemm()
    assert callable(change)
    ops = tuple(change(op) if op.id == "copy_a" else op for op in graph.ops)
    problem = closed(replace(graph, ops=ops), depths=(DepthPin("As", 2),))
    assert reason in loop_carried(problem, "As", "k")
    verdict = solve(problem)
    if reason:
        assert isinstance(verdict, Infeasible)
        assert {"pipeline_depth", "pins"} == {conflict.family for conflict in verdict.conflicts}
    else:
        assert isinstance(verdict, ProvenOptimal)


@pytest.mark.parametrize(
    ("pins", "code"),
    [
        ({"depths": (DepthPin("Zs", 2),)}, "pin-unknown-buffer"),
        ({"placements": (PlacementPin("nothing", "load"),)}, "pin-unknown-op"),
        ({"roles": (RolePin("worker", 0, 4),)}, "pin-unknown-role"),
        ({"unlimited_memories": ("ub",)}, "pin-not-for-cuda"),
    ],
)
def test_pins_that_name_nothing_are_refused(pins: dict[str, object], code: str) -> None:
    with pytest.raises(PinError) as refused:
        closed(kernels.gemm(), **pins)
    assert refused.value.code == code


def test_a_problem_survives_its_json() -> None:
    problem = closed(kernels.attention(), depths=(DepthPin("Ks", 2),))
    again = WarpProblem.from_json(problem.to_json())
    assert again == problem
    assert again.digest == problem.digest
