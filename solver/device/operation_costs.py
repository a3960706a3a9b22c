"""The cost of one operation for one of the instruction streams that share it, by unit, for the forecast.

Matrix products: an instruction of a warpgroup multiplies 64 rows; its B operand, and its A operand unless that is in
registers, come out of shared memory anew for every instruction, so the tile shape decides whether the tensor core or
shared memory is the limit. How the warpgroups split a tile is TileLang's own rule (:mod:`warpwright.solver.device.wgmma`).
"""

from dataclasses import dataclass, field

from warpwright.solver.device.element_types import element_bits
from warpwright.solver.device.instruction import Instruction, instruction, product_macs
from warpwright.solver.device.limits import WARP_THREADS, WARPGROUP
from warpwright.solver.device.machine import Machine
from warpwright.solver.device.tcgen05 import atom
from warpwright.solver.device.wgmma import INSTRUCTION_ROWS, Partition, partition
from warpwright.solver.domain.kernel import GemmShape, Issue, KernelGraph, Memory, Op, OpKind, Unit

__all__ = ["LOAD_QUEUE", "TENSOR_QUEUE", "OperationCost", "OperationCosts"]

LOAD_QUEUE, TENSOR_QUEUE = "tma", "tensor_core"
ISSUE_CYCLES = 1
"""Stream time of an instruction that is only started. No issue cost was measured, hence the minimum."""
INSTRUCTION_BYTES_DEEP = 32
"""A warpgroup instruction is 32 bytes deep in K: 16 half-precision or 32 eight-bit elements."""


@dataclass(frozen=True, slots=True, eq=False)
class OperationCost:
    """Work of one instruction of one stream: ``demands`` in unit-cycles by unit name, at least ``floor`` cycles, then ``tail``.

    ``tail`` are cycles that occupy no unit: pipeline drain or latency. Costs of one ``queue`` are met one at a time, first in,
    first out; ``lead`` is the latency before it enters its queue (a load's data begins to flow) and overlaps with others'.
    """

    label: str
    demands: tuple[tuple[str, float], ...]
    floor: float = 0.0
    tail: float = 0.0
    lead: float = 0.0
    queue: str = ""
    alone: float = field(init=False)
    """Cycles that it takes if nothing else runs, without lead and tail."""
    rates: tuple[tuple[str, float], ...] = field(init=False)
    """Share of each unit that it uses if it runs as fast as alone."""

    def __post_init__(self) -> None:
        alone = max([self.floor, *(amount for _, amount in self.demands)])
        object.__setattr__(self, "alone", alone)
        object.__setattr__(self, "rates", tuple((u, a / alone) for u, a in self.demands if a > 0 and alone > 0))


@dataclass(slots=True)
class OperationCosts:
    """Costs of the operations of one kernel on one machine. Amounts are cycles of a unit, per stream.

    Equal requests get the same object, which the event core's cache of shares counts on.
    """

    graph: KernelGraph
    machine: Machine
    _costs: dict[tuple[str, int, int, float, int], OperationCost] = field(default_factory=dict)
    _memory: dict[str, Memory] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._memory = {buffer.name: buffer.memory for buffer in self.graph.buffers}

    def gemm(self, op: Op, shape: GemmShape, streams: int, warps: int, spilled: int) -> OperationCost:
        """One warpgroup's part of a matrix product, as wgmma (or the same traffic by mma.sync, at its own rate).

        With ``spilled`` registers ptxas serialises the instructions and moves the accumulators through local memory.
        """
        machine = self.machine
        selected = instruction(shape, wgmma=machine.limits.wgmma, tcgen05=machine.limits.tcgen05)
        if selected is Instruction.TCGEN05:
            return self._into_tensor_memory(op, shape)
        rate = machine.tensor_rate(shape.a_dtype)
        rate *= machine.mma_sync_share if selected is Instruction.MMA_SYNC else 1.0
        split = partition(shape, warps) or Partition(max(warps, WARPGROUP), 1)
        rows = shape.m * WARPGROUP / split.rows
        columns = shape.n / split.columns
        width = element_bits(shape.a_dtype) / 8
        tensor = product_macs(shape, selected) / rate / streams
        row_blocks = max(1.0, rows / INSTRUCTION_ROWS)
        operand_a = rows * shape.k * width if shape.a_memory is not Memory.FRAGMENT else 0.0
        operand_b = row_blocks * columns * shape.k * width
        instructions = row_blocks * shape.k * width / INSTRUCTION_BYTES_DEEP
        floor = tensor
        if spilled:
            floor += instructions * machine.serial_latency + spilled * machine.spill_cycles
        demands = (("tensor_core", tensor), ("shared", (operand_a + operand_b) / machine.shared_bytes))
        return OperationCost(op.id, demands, floor=floor, tail=machine.gemm_overhead, queue=TENSOR_QUEUE)

    def _into_tensor_memory(self, op: Op, shape: GemmShape) -> OperationCost:
        """A whole product: an instruction of up to 128 rows and 256 columns reads its operands out of shared memory once."""
        machine, width = self.machine, element_bits(shape.a_dtype) / 8
        tensor = product_macs(shape, Instruction.TCGEN05) / machine.tensor_rate(shape.a_dtype)
        found = atom(shape)
        rows, columns = (found.rows, found.columns) if found is not None else (shape.m, shape.n)
        operand_a = 0.0 if shape.a_memory is Memory.TENSOR else shape.m * shape.k * width * (shape.n / columns)
        operand_b = shape.n * shape.k * width * (shape.m / rows)
        demands = (("tensor_core", tensor), ("shared", (operand_a + operand_b) / machine.shared_bytes))
        return OperationCost(op.id, demands, floor=tensor, tail=machine.tcgen05_latency, queue=TENSOR_QUEUE)

    def load(self, op: Op, miss: float) -> OperationCost:
        """A bulk load: latency first, then bytes through L2 (``miss`` of them from memory) into shared memory."""
        machine = self.machine
        moved = float(sum(access.bytes for access in op.writes))
        demands = (
            ("fill", moved / machine.fill_bytes),
            ("memory", miss * moved / machine.memory_bytes),
            ("shared", moved / machine.shared_bytes),
        )
        return OperationCost(f"tma {op.id}", demands, lead=machine.load_latency, queue=LOAD_QUEUE)

    def store(self, op: Op, streams: int) -> OperationCost:
        """A store to global memory with its wait: out of shared memory into L2 and on to memory."""
        machine = self.machine
        moved = float(sum(access.bytes for access in op.writes)) / streams
        demands = (
            ("fill", moved / machine.fill_bytes),
            ("memory", moved / machine.memory_bytes),
            ("shared", moved / machine.shared_bytes),
        )
        return OperationCost(op.id, demands, tail=machine.store_latency)

    def thread_copy(self, op: Op, streams: int, miss: float) -> OperationCost:
        """Global to shared memory by the threads themselves: they issue for as long as the data path is busy."""
        machine = self.machine
        moved = float(sum(access.bytes for access in op.writes)) / streams
        demands = (
            ("copy", moved / machine.copy_bytes),
            ("fill", moved / machine.fill_bytes),
            ("memory", miss * moved / machine.memory_bytes),
            ("shared", moved / machine.shared_bytes),
        )
        return OperationCost(op.id, demands)

    def threads(self, op: Op, streams: int, miss: float) -> OperationCost:
        """Arithmetic on fragments, fills, reductions, copies through registers: ALU, SFU, shared and global memory.

        One warpgroup alone keeps only a share of ALU and SFU busy (dependent instructions), hence the floor. What is read from
        global memory is waited for.
        """
        machine = self.machine
        amounts = {Unit.ALU: 0.0, Unit.SFU: 0.0}
        for use in op.uses:
            if use.unit in amounts:
                amounts[use.unit] += use.cycles / streams
        if not any(amounts.values()) and op.elements:
            amounts[Unit.ALU] = op.elements / machine.alu / streams
        # Loads and stores as the graph counts them, element by element; never less than the tiles themselves.
        moved = sum(a.bytes for a in (*op.reads, *op.writes) if self.on_chip(a.buffer)) / machine.shared_bytes
        counted = sum(use.cycles for use in op.uses if use.unit is Unit.LSU)
        reads, writes = (
            any(self._memory.get(a.buffer) is Memory.GLOBAL for a in side) for side in (op.reads, op.writes)
        )
        demands = [
            ("alu", amounts[Unit.ALU] / machine.alu_ratio),
            ("sfu", amounts[Unit.SFU]),
            ("shared", (moved if reads or writes else max(moved, counted)) / streams),
        ]
        longest = max(amount for _, amount in demands)
        if reads or writes:
            # Global bytes are in the same count, at the rate of device memory.
            beyond = max(counted - moved, 0.0) / streams
            demands.append(("memory", beyond * (1.0 if writes else miss)))
            demands.append(("fill", beyond * machine.memory_bytes / machine.fill_bytes))
        floor, tail = longest / machine.stream_ratio, machine.copy_latency if reads else 0.0
        return OperationCost(op.id, tuple((u, a) for u, a in demands if a > 0), floor=floor, tail=tail)

    def arrival(self, cycles: float) -> OperationCost:
        """Arrivals of a stream's threads at an mbarrier: cycles of shared memory."""
        key = ("arrive", 0, 0, cycles, 0)
        if key not in self._costs:
            self._costs[key] = OperationCost("arrive", (("shared", cycles),))
        return self._costs[key]

    def arrival_cycles(self, warps: int) -> float:
        """Cycles of shared memory for one warpgroup (or the few warps of a smaller role) to arrive at an mbarrier."""
        return self.machine.arrive_cycles * WARP_THREADS * min(warps, WARPGROUP)

    def issue(self) -> OperationCost:
        """An instruction that only starts something, or waits for it: the stream goes on with the next cycle."""
        return self._fixed("issue", ISSUE_CYCLES)

    def fence(self) -> OperationCost:
        """A fence between the proxies: the stream waits until its reads of shared memory have been performed."""
        return self._fixed("fence", self.machine.limits.proxy_fence_cycles)

    def _fixed(self, label: str, cycles: float) -> OperationCost:
        key = (label, 0, 0, cycles, 0)
        if key not in self._costs:
            self._costs[key] = OperationCost(label, (), floor=cycles)
        return self._costs[key]

    def of(self, op: Op, streams: int, warps: int, miss: float, spilled: int) -> OperationCost:
        """The cost of any operation for one of ``streams`` equal streams."""
        key = (op.id, streams, warps, miss, spilled)
        if key not in self._costs:
            self._costs[key] = self._cost(op, streams, warps, miss, spilled)
        return self._costs[key]

    def _cost(self, op: Op, streams: int, warps: int, miss: float, spilled: int) -> OperationCost:
        if op.gemm is not None:
            return self.gemm(op, op.gemm, streams, warps, spilled)
        if op.kind is OpKind.TMA_LOAD:
            return self.load(op, miss)
        if op.kind is OpKind.TMA_STORE:
            return self.store(op, streams)
        if op.kind is OpKind.ASYNC_LOAD or (op.kind is OpKind.COPY and self._from_global(op)):
            return self.thread_copy(op, streams, miss)
        if op.kind is OpKind.COPY and self._to_global(op):
            return self.store(op, streams)
        return self.threads(op, streams, miss)

    def in_tensor_memory(self, op: Op) -> bool:
        """Whether one thread issues the operation as a product into tensor memory (tcgen05) and goes on."""
        return op.gemm is not None and op.gemm.c_memory is Memory.TENSOR and op.issue is Issue.ASYNCHRONOUS

    def in_lanes(self, name: str) -> bool:
        """Whether a buffer is in tensor memory."""
        return self._memory.get(name) is Memory.TENSOR

    def on_chip(self, name: str) -> bool:
        """Whether a buffer is in shared memory."""
        return self._memory.get(name) is Memory.SHARED

    def _from_global(self, op: Op) -> bool:
        return any(self._memory.get(a.buffer) is Memory.GLOBAL for a in op.reads) and any(
            self.on_chip(a.buffer) for a in op.writes
        )

    def _to_global(self, op: Op) -> bool:
        return any(self._memory.get(a.buffer) is Memory.GLOBAL for a in op.writes)
