"""One model of time: what the rules plan with is never more than what the forecast plays."""

from collections.abc import Callable
from math import ceil

import pytest

from tests import kernels
from tests.unit.solver.device.recorded import compiled
from warpwright.solver.device.cycles import stream_cycles
from warpwright.solver.device.machine import machine
from warpwright.solver.device.operation_costs import OperationCosts
from warpwright.solver.device.work import CostModel, SimtWork
from warpwright.solver.domain.kernel import KernelGraph, Memory, OpKind, Unit
from warpwright.solver.domain.profile import HardwareProfile
from warpwright.solver.profiles import load_profile

H200, B200 = load_profile("h200"), load_profile("b200")
GRAPHS: dict[str, Callable[[], KernelGraph]] = {
    "gemm": kernels.gemm,
    "attention": kernels.attention,
    "two_gemms": kernels.two_gemms,
}


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("groups", [1, 2, 3])
def test_a_product_is_played_no_shorter_than_the_rules_count_it(name: str, groups: int) -> None:
    graph = GRAPHS[name]()
    costs = OperationCosts(graph, machine(H200))
    for op in graph.ops:
        if op.gemm is None:
            continue
        cost = costs.of(op, groups, 4 * groups, 0.0, 0)
        whole = sum(use.cycles for use in op.uses if use.unit is Unit.TENSOR_CORE)
        assert groups * dict(cost.demands)["tensor_core"] == pytest.approx(whole, abs=1)
        assert cost.alone + cost.tail >= stream_cycles(op, 4 * groups) - 1


@pytest.mark.parametrize(("rows", "padded"), [(64, 64), (65, 128), (192, 192)])
def test_a_tile_that_does_not_fill_the_instruction_is_padded_in_both(rows: int, padded: int) -> None:
    graph = kernels.gemm(rows, 128, 64)
    (product,) = (op for op in graph.ops if op.gemm is not None)
    assert product.gemm is not None
    played = dict(OperationCosts(graph, machine(H200)).of(product, 1, 4, 0.0, 0).demands)["tensor_core"]
    written = CostModel(H200).gemm(product.gemm).uses[0].cycles
    assert played == written == padded * 128 * 64 / 2048


@pytest.mark.parametrize(
    ("graph", "profile", "rate"),
    [
        (kernels.gemm(32, 128, 64), H200, 0.63 * 2048),  # fewer rows than a warpgroup's instruction has
        (kernels.gemm(128, 128, 64), H200, 2048),
        (kernels.gemm(128, 128, 64), B200, 0.25 * 4096),  # a result in registers
        (kernels.blackwell_gemm(128, 128, 64), B200, 4096),
        (kernels.gemm(128, 128, 64), load_profile("a100"), 1024),  # a device without another instruction
    ],
)
def test_a_product_is_as_fast_as_the_instruction_that_the_lowering_selects(
    graph: KernelGraph, profile: HardwareProfile, rate: float
) -> None:
    (product,) = (op for op in graph.ops if op.gemm is not None)
    assert product.gemm is not None
    played = dict(OperationCosts(graph, machine(profile)).of(product, 1, 4, 0.0, 0).demands)["tensor_core"]
    assert played == pytest.approx(product.gemm.m * product.gemm.n * product.gemm.k / rate)
    assert CostModel(profile).gemm(product.gemm).uses[0].cycles == ceil(played)


def test_no_operation_on_chip_is_planned_longer_than_it_is_played() -> None:
    """Every operation of the compiled corpus that touches no global memory by threads, alone on idle units.

    The rules count the round trip of shared memory that the forecast leaves out, so it is allowed for; what threads read from
    device memory the rules plan at its rate though L2 may hold it (docs/decisions/0167), so it is not in here.
    """
    checked = 0
    round_trip = H200.integer("shared.round_trip_latency", "cycles")
    bulk = (OpKind.TMA_LOAD, OpKind.TMA_STORE)
    for one in compiled():
        costs = OperationCosts(one.graph, machine(H200))
        memories = {buffer.name: buffer.memory for buffer in one.graph.buffers}
        for op in one.graph.ops:
            touched = {memories[access.buffer] for access in (*op.reads, *op.writes)}
            if op.kind in (OpKind.BIND, OpKind.WAIT) or (Memory.GLOBAL in touched and op.kind not in bulk):
                continue
            for groups in (1, 2):
                cost = costs.of(op, groups, 4 * groups, 1.0, 0)
                free = cost.lead + cost.alone + cost.tail + (round_trip if Memory.SHARED in touched else 0)
                assert stream_cycles(op, 4 * groups) <= free + 1, (one.name, op.id, groups)
                checked += 1
    assert checked > 500


def test_stores_are_not_waited_for_and_reads_are() -> None:
    costs = CostModel(H200)
    latency = H200.integer("global.latency", "cycles")
    read, written = costs.simt(SimtWork(read_bytes=4096)), costs.simt(SimtWork(written_bytes=4096))
    assert read.uses == written.uses
    assert read.latency == written.latency + latency
