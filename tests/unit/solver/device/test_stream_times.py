"""One model of time: what the rules plan with is never more than what the forecast plays."""

from math import ceil

import pytest

from tests import kernels
from tests.unit.solver.device.recorded import compiled
from warpwright.solver.device.machine import machine
from warpwright.solver.device.operation_costs import OperationCosts
from warpwright.solver.device.stream_steps import crew_of, step_of
from warpwright.solver.device.stream_times import StreamTimes
from warpwright.solver.device.trips import count_trips
from warpwright.solver.device.work import CostModel, SimtWork
from warpwright.solver.domain.kernel import KernelGraph, Unit
from warpwright.solver.domain.profile import HardwareProfile
from warpwright.solver.profiles import load_profile

H200, B200 = load_profile("h200"), load_profile("b200")


def times_of(graph: KernelGraph) -> StreamTimes:
    return StreamTimes(graph, machine(H200), count_trips(graph, machine(H200).sms))


@pytest.mark.parametrize("groups", [1, 2, 3])
def test_a_product_keeps_the_tensor_core_as_long_as_the_graph_says(groups: int) -> None:
    for graph in (kernels.gemm(), kernels.attention(), kernels.two_gemms()):
        costs = OperationCosts(graph, machine(H200))
        for op in (op for op in graph.ops if op.gemm is not None):
            cost = costs.of(op, groups, 4 * groups, 0.0, 0)
            whole = sum(use.cycles for use in op.uses if use.unit is Unit.TENSOR_CORE)
            assert groups * dict(cost.demands)["tensor_core"] == pytest.approx(whole, abs=1)


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


def test_no_operation_is_planned_longer_than_it_is_played() -> None:
    """Every operation of the compiled corpus: alone in one stream, and with all streams of its role in step."""
    checked, device = 0, machine(H200)
    for one in compiled():
        costs, times = OperationCosts(one.graph, device), times_of(one.graph)
        for groups in (1, 2):
            for op in one.graph.ops:
                crew = crew_of(costs, (op,), 4 * groups)
                step = step_of(costs, op, crew, times.crowded.get(op.id, 0.0))
                barriers = (step.barrier_before + step.barrier_after) * device.sync_cycles
                whole = [crew.streams * amount for _, amount in step.job.demands]
                alone = step.job.lead + step.job.alone + step.job.tail + step.behind + barriers
                together = alone - step.job.alone + max([step.job.alone, *whole])
                assert times.hold(op, crew) <= max(1, together), (one.name, op.id, groups)
                assert times.hold(op, crew) <= times.result(op, crew) <= times.finished(op, crew), (one.name, op.id)
                assert times.finished(op, crew) <= max(1, together), (one.name, op.id, groups)
                checked += 1
    assert checked > 500


def test_one_warpgroup_takes_turns_with_nobody() -> None:
    graph = kernels.attention()
    times = times_of(graph)
    for op in graph.ops:
        apart, together = times.held(op, times.crew(graph.ops, 4))
        assert apart == together, op.id


def test_warpgroups_in_step_share_what_they_have_alone_when_they_take_turns() -> None:
    graph = kernels.attention()
    times = times_of(graph)
    crew = times.crew(graph.ops, 8)
    product = next(op for op in graph.ops if op.gemm is not None)
    apart, together = times.held(product, crew)
    drain = times.machine.gemm_overhead
    assert together - drain == pytest.approx(2 * (apart - drain))
    assert int(apart) < times.hold(product, crew) < int(together)


def test_what_the_launch_does_not_say_is_assumed_once() -> None:
    """The rules and the forecast count the same trips of a loop whose count only the launch knows."""
    graph = kernels.gemm(trips=None)
    times = times_of(graph)
    assert times.trips.estimated
    assert times.trips.by_scope["k"] == count_trips(graph, machine(B200).sms).by_scope["k"]


def test_stores_are_not_waited_for_and_reads_are() -> None:
    costs = CostModel(H200)
    latency = H200.integer("global.latency", "cycles")
    read, written = costs.simt(SimtWork(read_bytes=4096)), costs.simt(SimtWork(written_bytes=4096))
    assert read.uses == written.uses
    assert read.latency == written.latency + latency
