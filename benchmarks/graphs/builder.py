"""A small builder for tile-level loop bodies, with costs from a hardware profile.

Costs follow the published description of joint pipelining and warp specialisation (Twill, arXiv 2512.18134): an operation
works on one tile and takes what the unit's throughput gives; a 128x128x128 GEMM on Hopper is 1024 cycles and so is the
exponential of a 128x128 tile. Streamed inputs have latency 0 and no wait, because their depth is chosen elsewhere.
"""

from dataclasses import dataclass, field

from warpwright.solver.domain import HardwareProfile
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

__all__ = ["Costs", "LoopBuilder"]


@dataclass(frozen=True, slots=True)
class Costs:
    """Cycles of tile operations on one multiprocessor of a profile."""

    profile: HardwareProfile

    def gemm(self, rows: int, columns: int, depth: int) -> int:
        """A dense bf16 product with fp32 accumulation."""
        rate = self.profile.number("tensor_core.bf16_macs_per_cycle", "MACs/cycle")
        return _cycles(rows * columns * depth, rate)

    def special(self, elements: int) -> int:
        """One exponential per element."""
        return _cycles(elements, self.profile.number("sfu.exponentials_per_cycle", "ops/cycle"))

    def alu(self, elements: int) -> int:
        """One fp32 operation per element."""
        return _cycles(elements, self.profile.number("alu.fp32_per_cycle", "ops/cycle"))

    def load(self, size: int) -> int:
        """Cycles that the copy engine is busy with a load of ``size`` bytes."""
        return _cycles(size, self.profile.number("tma.bytes_per_cycle", "bytes/cycle"))

    def tensor_memory(self, elements: int) -> int:
        """A move between tensor memory and registers, one 32-bit cell per lane and cycle."""
        return _cycles(elements, self.profile.number("tensor_memory.lanes", "lanes"))

    def hand_off(self, size: int) -> int:
        """Registers to shared memory, barrier, and back into another group's registers."""
        first = self.profile.number("shared.round_trip_latency", "cycles")
        each = self.profile.number("shared.round_trip_cycles_per_kib", "cycles")
        return round(first + each * size / 1024)

    def signal(self) -> int:
        """A barrier between groups when the data need not move."""
        return self.profile.integer("mbarrier.latency", "cycles")


@dataclass(slots=True)
class LoopBuilder:
    """Collects operations and edges of one loop body."""

    name: str
    costs: Costs
    ops: list[ModuloOp] = field(default_factory=list)
    edges: list[ModuloEdge] = field(default_factory=list)

    def load(self, name: str, size: int) -> str:
        """A streamed input tile in shared memory: variable latency, its own group."""
        busy = self.costs.load(size)
        self.ops.append(ModuloOp(name, busy, (Use("tma", busy),), memory=(("shared", size),), variable_latency=True))
        return name

    def step(self, name: str, unit: str, cycles: int, *, registers: int = 0, hand_off: int = 0, **kept: int) -> str:
        """An operation of a warpgroup on registers; ``kept`` are bytes or columns its result holds elsewhere."""
        memory = tuple(kept.items())
        self.ops.append(ModuloOp(name, cycles, (Use(unit, cycles),), 4, registers, memory, hand_off))
        return name

    def issue(self, name: str, cycles: int, **kept: int) -> str:
        """A tensor core operation that one warp issues and whose result stays in tensor memory."""
        memory = tuple(kept.items())
        self.ops.append(ModuloOp(name, cycles, (Use("tensor_core", cycles),), 1, 0, memory, self.costs.signal()))
        return name

    def streamed(self, source: str, target: str, hold: int) -> None:
        """A streamed input: present when needed, kept for the consumer's whole execution."""
        self.edges.append(ModuloEdge(source, target, 0, wait=ModuloWait.NEVER, hold=hold))

    def flow(self, source: str, target: str, *, distance: int = 0, hold: int = 0, drain: bool = False) -> None:
        """The result of one operation to another, after its full execution; ``drain`` blocks also on one group."""
        latency = next(op.cycles for op in self.ops if op.id == source)
        wait = ModuloWait.ALWAYS if drain else ModuloWait.ACROSS
        self.edges.append(ModuloEdge(source, target, latency, distance, wait, True, hold))

    def problem(
        self, groups: tuple[Group, ...], memories: tuple[ModuloMemory, ...], *, stages: int = 3
    ) -> ModuloProblem:
        """The finished problem: one of each unit per multiprocessor."""
        names = dict.fromkeys(use.unit for op in self.ops for use in op.uses)
        units = tuple(ModuloUnit(name, 1) for name in names)
        return ModuloProblem(self.name, units, tuple(self.ops), tuple(self.edges), memories, groups, stages)


def _cycles(amount: float, rate: float) -> int:
    """Whole cycles, at least one."""
    return max(1, -(-int(amount) // int(rate)))
