"""Products in flight: no faster than the tensor core, waited for where the kernel says so, and handed over when they are over."""

from dataclasses import replace

import pytest

from tests import kernels
from warpwright.solver.candidates.sketch import sketch
from warpwright.solver.candidates.structures import space_of
from warpwright.solver.device.machine import machine
from warpwright.solver.device.operation_costs import OperationCosts
from warpwright.solver.domain import HardwareProfile, Issue, KernelGraph, Pins, WarpSchedule
from warpwright.solver.forecast import simulate
from warpwright.solver.profiles import load_profile
from warpwright.solver.warp.problem import close_problem

H200, B200 = load_profile("h200"), load_profile("b200")


def schedules(graph: KernelGraph, profile: HardwareProfile, warpgroups: int) -> dict[tuple[str, ...], WarpSchedule]:
    """Schedules that fit, a pipeline for each buffer, for each product or for all, by their pipelines' names and depths."""
    space, problem = space_of(graph), close_problem(graph, profile)
    found: dict[tuple[str, ...], WarpSchedule] = {}
    for base in space.base(profile, warpgroups, Pins()):
        for structure in (base, replace(base, merged=True), replace(base, grouped=space.operands)):
            schedule = sketch(space, structure, problem)
            if space.fits(structure, profile):
                found[tuple(f"{p.name}={p.depth}" for p in schedule.pipelines)] = schedule
    return found


def blocking(graph: KernelGraph) -> KernelGraph:
    """The same kernel whose products wait for themselves."""
    ops = tuple(
        replace(op, issue=Issue.BLOCKING, gemm=replace(op.gemm, waits=True)) if op.gemm is not None else op
        for op in graph.ops
    )
    return replace(graph, ops=ops)


@pytest.mark.parametrize("bk", [32, 64])
def test_two_products_in_flight_are_bounded_by_the_tensor_core_and_save_at_most_issue_and_drain(bk: int) -> None:
    graph, device = kernels.gemm_in_pairs(bk=bk), machine(H200)
    peak = 2 * 128 * 256 * bk / device.tensor_rate("bfloat16")
    found = schedules(graph, H200, 2)
    assert {len(name) for name in found} == {1, 2, 4}, "a pipeline for all, for each product, for each buffer"
    for name, schedule in found.items():
        flying, waiting = simulate(graph, H200, schedule), simulate(blocking(graph), H200, schedule)
        assert peak <= flying.interval_cycles <= waiting.interval_cycles, name
        if (
            len(name) == 1
        ):  # nothing is released between the products, so only two of each warpgroup's drains can be saved
            assert waiting.interval_cycles - flying.interval_cycles <= 2 * 2 * device.gemm_overhead, name
        assert all(share <= 1.0 + 1e-6 for share in flying.utilisation.values()), name
        assert any(s.role == "consumer" and s.cause == "wgmma" for s in flying.stalls), "the waits wait"


def test_operands_come_free_one_product_at_a_time_only_with_a_pipeline_for_each() -> None:
    graph = kernels.gemm_in_pairs(bk=64)
    found = schedules(graph, H200, 2)
    apart, together = (found[name] for name in (("as_bs=2", "at_bt=2"), ("as_bs_at_bt=2",)))
    assert simulate(graph, H200, apart).interval_cycles < simulate(graph, H200, together).interval_cycles


def test_products_into_tensor_memory_give_their_operands_back_when_they_are_over() -> None:
    graph, device = kernels.blackwell_gemm(128, 128, 64), machine(B200)
    moved = (128 + 128) * 64 * 2 / device.shared_bytes
    product = dict(OperationCosts(graph, device).of(graph.op("mma"), 1, 1, 0.0, 0).demands)
    shallow, *_, deep = schedules(graph, B200, 1).values()
    assert simulate(graph, B200, deep).interval_cycles == pytest.approx(moved + product["shared"], rel=0.01), (
        "shared memory is full"
    )
    alone = device.load_latency + product["tensor_core"] + device.tcgen05_latency
    assert simulate(graph, B200, shallow).interval_cycles > alone, (
        "one version waits for the product's end, not for its start"
    )
