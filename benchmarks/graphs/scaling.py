"""A series of loop bodies of growing size, to show how solving time grows from 10 to 200 operations.

Each body is a number of independent softmax pipelines (product, maximum, exponential, sum, conversion, product, rescaling)
that share one set of units, one warpgroup for each, as sub-tiling makes them: the same constraint classes as the
attention cases, only more of them (and more warpgroups than a block can have). The remainder is element-wise operations.
Costs are a B200's with head dimension 64, so the exponentials bind and fill their unit to the last cycle.
"""

from benchmarks.graphs.builder import Costs, LoopBuilder
from warpwright.solver.modulo import Group, ModuloMemory, ModuloProblem
from warpwright.solver.profiles import builtin_profile

__all__ = ["SIZES", "scaling_case"]

SIZES = (10, 20, 40, 60, 80, 100, 150, 200)
PIPELINE = 8
TILE = 64 * 64


def scaling_case(ops: int) -> ModuloProblem:
    """A loop body of exactly ``ops`` operations; at least 9."""
    loop = LoopBuilder(f"scaling-{ops}", Costs(builtin_profile("b200")))
    loop.load("load", TILE * 2)
    count = (ops - 1) // PIPELINE
    for index in range(count):
        _pipeline(loop, str(index))
    for index in range(ops - 1 - count * PIPELINE):
        before = f"sum{index % count}"
        loop.step(f"extra{index}", "alu", loop.costs.alu(TILE), registers=1)
        loop.flow(before, f"extra{index}")
    groups = tuple(Group(f"wg{index}", 4, 200) for index in range(count))
    memory = ModuloMemory("shared", builtin_profile("b200").integer("shared.per_block", "bytes"))
    return loop.problem((*groups, Group("load", 1, 64, variable_latency=True)), (memory,))


def _pipeline(loop: LoopBuilder, name: str) -> None:
    costs = loop.costs
    product, full, row = costs.gemm(64, 64, 64), costs.hand_off(4 * TILE), costs.hand_off(256)
    qk = loop.step(f"qk{name}", "tensor_core", product, registers=32, hand_off=full)
    top = loop.step(f"max{name}", "alu", costs.alu(TILE), registers=1, hand_off=row)
    shift = loop.step(f"shift{name}", "alu", costs.alu(TILE), registers=32, hand_off=full)
    exp = loop.step(f"exp{name}", "sfu", costs.special(TILE), registers=32, hand_off=full)
    total = loop.step(f"sum{name}", "alu", costs.alu(TILE), registers=1, hand_off=row)
    cast = loop.step(f"cast{name}", "alu", costs.alu(TILE // 2), registers=16, hand_off=full)
    scale = loop.step(f"scale{name}", "alu", costs.alu(TILE), registers=32, hand_off=full)
    pv = loop.step(f"pv{name}", "tensor_core", product, registers=32, hand_off=full)
    loop.streamed("load", qk, product)
    loop.flow(qk, top, drain=True)
    loop.flow(qk, shift, drain=True)
    loop.flow(top, top, distance=1)
    loop.flow(top, shift)
    loop.flow(shift, exp)
    loop.flow(exp, total)
    loop.flow(total, total, distance=1)
    loop.flow(exp, cast)
    loop.flow(cast, pv, hold=product)
    loop.flow(top, scale)
    loop.flow(scale, pv)
    loop.flow(pv, scale, distance=1, drain=True)
