"""Loop bodies of other shapes than the series, to find the limits of the solver's methods: chains, deep sub-tiling,
random graphs.

The random loops and the forward graphs also served to set the constructive search's constants; the others did not.
"""

from collections.abc import Callable
from random import Random

from benchmarks.graphs.attention import blackwell_backward, blackwell_forward
from benchmarks.graphs.builder import Costs, LoopBuilder
from warpwright.solver.modulo import (
    Group,
    ModuloEdge,
    ModuloMemory,
    ModuloOp,
    ModuloProblem,
    ModuloUnit,
    ModuloWait,
    Use,
)
from warpwright.solver.profiles import builtin_profile

__all__ = ["product_chain", "random_loop", "shape_cases"]

TILE = 64 * 64
LATENCIES = (8, 16, 24, 32, 48, 64, 100)


def shape_cases() -> dict[str, Callable[[], ModuloProblem]]:
    """Generators by case name; the number is that of the parameter, and ``ops`` in the results counts operations."""
    cases: dict[str, Callable[[], ModuloProblem]] = {
        "blackwell-backward-8": lambda: blackwell_backward(chunks=8, registers=128),
        "blackwell-backward-16": lambda: blackwell_backward(chunks=16, registers=128),
        "blackwell-forward-4": lambda: blackwell_forward(chunks=4),
        "blackwell-forward-8": lambda: blackwell_forward(chunks=8),
    }
    for count in (8, 16, 32, 48):
        cases[f"product-chain-{count}"] = lambda count=count: product_chain(count)  # type: ignore[misc]  # bound now
    for groups in (0, 2, 4):
        for ops in (20, 50, 100, 200):
            name = f"random-{ops}" + (f"-groups-{groups}" if groups else "")
            cases[name] = lambda ops=ops, groups=groups: random_loop(ops, groups=groups)  # type: ignore[misc]  # as above
    return cases


def product_chain(count: int, *, warpgroups: int = 2) -> ModuloProblem:
    """``count`` products one after the other with an activation between, as a fused multilayer perceptron has them."""
    loop = LoopBuilder(f"product-chain-{count}", Costs(builtin_profile("h100")))
    costs = loop.costs
    product, full = costs.gemm(64, 64, 64), costs.hand_off(4 * TILE)
    before = loop.load("input", TILE * 2)
    for layer in range(count):
        weights = loop.load(f"weights{layer}", TILE * 2)
        gemm = loop.step(f"product{layer}", "tensor_core", product, registers=32, hand_off=full)
        loop.streamed(weights, gemm, product)
        if layer:
            loop.flow(before, gemm, hold=product)
        else:
            loop.streamed(before, gemm, product)
        active = loop.step(f"activation{layer}", "alu", costs.alu(TILE), registers=32, hand_off=full)
        before = loop.step(f"cast{layer}", "alu", costs.alu(TILE // 2), registers=16, hand_off=costs.hand_off(2 * TILE))
        loop.flow(gemm, active, drain=True)
        loop.flow(active, before)
    total = loop.step("total", "alu", costs.alu(TILE), registers=32, hand_off=full)
    loop.flow(before, total)
    loop.flow(total, total, distance=1)
    groups = (
        *(Group(f"wg{index}", 4, 240) for index in range(warpgroups)),
        Group("load", 1, 64, variable_latency=True),
    )
    memory = ModuloMemory("shared", builtin_profile("h100").integer("shared.per_block", "bytes"))
    return loop.problem(groups, (memory,), stages=4)


def random_loop(ops: int, *, groups: int, seed: int = 1) -> ModuloProblem:
    """A random graph with recurrences, three units (one with two instances), a memory, and drains on a third of the edges."""
    rng = Random(seed)
    units = (ModuloUnit("first", 1), ModuloUnit("second", 1), ModuloUnit("pair", 2))
    bodies, edges = [], []
    for index in range(ops):
        cycles = rng.choice(LATENCIES)
        use = Use(rng.choice(units).name, cycles)
        registers = rng.choice((0, 8, 16, 32))
        held = (("memory", rng.choice((0, 0, 1, 2))),)
        bodies.append(
            ModuloOp(
                f"op{index}",
                cycles,
                (use,),
                4 if groups else 1,
                registers if groups else 0,
                held,
                rng.choice((0, 20, 60)),
            )
        )
    for index in range(1, ops):
        for _ in range(rng.choice((1, 1, 2))):
            source = rng.randrange(max(0, index - 18), index)
            wait = rng.choice((ModuloWait.ACROSS, ModuloWait.ACROSS, ModuloWait.ALWAYS))
            hold = rng.choice((0, 0, bodies[index].cycles))
            edges.append(ModuloEdge(f"op{source}", f"op{index}", bodies[source].cycles, 0, wait, True, hold))
    for _ in range(ops // 8):
        source = rng.randrange(2, ops)
        target = rng.randrange(max(0, source - 10), source)
        edges.append(ModuloEdge(f"op{source}", f"op{target}", bodies[source].cycles, rng.choice((1, 1, 2))))
    places = tuple(Group(f"wg{index}", 4, 232) for index in range(groups))
    memory = ModuloMemory("memory", max(12, ops // 2))
    name = f"random-{ops}-{groups}-{seed}"
    return ModuloProblem(name, units, tuple(bodies), tuple(edges), (memory,), places, 4)
