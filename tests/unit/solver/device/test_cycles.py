"""One model of time: what the rules plan with is never more than what the forecast plays."""

from collections.abc import Callable

import pytest

from tests import kernels
from warpwright.solver.device.cycles import stream_cycles
from warpwright.solver.device.machine import machine
from warpwright.solver.device.operation_costs import OperationCosts
from warpwright.solver.device.work import CostModel
from warpwright.solver.domain.kernel import KernelGraph, Unit
from warpwright.solver.profiles import load_profile

H200 = load_profile("h200")
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


@pytest.mark.parametrize(("rows", "padded"), [(64, 64), (65, 128), (16, 64), (192, 192)])
def test_a_tile_that_does_not_fill_the_instruction_is_padded_in_both(rows: int, padded: int) -> None:
    graph = kernels.gemm(rows, 128, 64)
    (product,) = (op for op in graph.ops if op.gemm is not None)
    played = dict(OperationCosts(graph, machine(H200)).of(product, 1, 4, 0.0, 0).demands)["tensor_core"]
    written = CostModel(H200).gemm(rows, 128, 64, "bfloat16").uses[0].cycles
    assert played == written == padded * 128 * 64 / 2048
