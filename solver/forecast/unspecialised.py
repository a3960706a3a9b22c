"""The same kernel without warp specialisation: every warpgroup copies, multiplies and computes in turn.

TileLang 0.1.15 then copies tiles with ``cp.async`` by all threads, ``num_stages`` versions deep, with a block-wide barrier
before a tile is read and before its slot is filled again. When one operation at the end of the body reads all tiles, the
copies are before it; otherwise each copy follows the last reader of its buffer (seen in generated code of both forms).
"""

from collections.abc import Iterator, Mapping

from warpwright.solver.device.cycles import LOADS
from warpwright.solver.device.limits import WARP_THREADS, WARPGROUP_THREADS
from warpwright.solver.device.machine import Machine
from warpwright.solver.device.occupancy import Footprint
from warpwright.solver.device.operation_costs import OperationCost, OperationCosts
from warpwright.solver.device.registers import Registers, need
from warpwright.solver.device.shared_memory import reused_bytes
from warpwright.solver.domain import ROOT, KernelGraph, Memory, Op, OpKind
from warpwright.solver.domain.source_order import SourceOrder
from warpwright.solver.forecast.events import Async, Drain, Instruction, Mark, RunStep, Stream, SyncStep
from warpwright.solver.forecast.loops import Loops

__all__ = ["footprint_of", "registers_of", "streams_of"]


def registers_of(graph: KernelGraph, device: Machine) -> Registers:
    """Registers of every thread: what the program needs, and the addresses of its copies."""
    source = SourceOrder(graph)
    needed = need(device.limits, source, source.below(ROOT), graph.threads // WARP_THREADS, frozenset()).registers
    budget = device.limits.launch_registers(graph.threads, graph.min_blocks_per_sm)
    return Registers(needed + device.copy_registers, budget)


def footprint_of(graph: KernelGraph, device: Machine, versions: Mapping[str, int]) -> Footprint:
    """Threads, registers and shared memory of one block; buffers that are never live together share their bytes."""
    registers = registers_of(graph, device)
    used = min(registers.budget, -(-registers.needed // 8) * 8)
    return Footprint(graph.threads, used, reused_bytes(graph, versions, graph.threads // WARP_THREADS))


def streams_of(
    graph: KernelGraph,
    costs: OperationCosts,
    loops: Loops,
    versions: Mapping[str, int],
    miss: Mapping[str, float],
    spilled: int,
    index: int,
) -> list[Stream]:
    """The block's streams: one per warpgroup, all alike."""
    width = max(1, graph.threads // WARPGROUP_THREADS)
    writer = _Writer(graph, costs, loops, versions, miss, spilled, f"block{index}", width)
    names = [f"worker.{i}" if width > 1 else "worker" for i in range(width)]
    return [Stream(f"{n}@{index}" if index else n, "worker", list(writer.scope(ROOT))) for n in names]


class _Writer:
    """Writes the instructions that all warpgroups of a block share."""

    def __init__(
        self,
        graph: KernelGraph,
        costs: OperationCosts,
        loops: Loops,
        versions: Mapping[str, int],
        miss: Mapping[str, float],
        spilled: int,
        block: str,
        width: int,
    ) -> None:
        self._graph, self._costs, self._loops, self._versions = graph, costs, loops, versions
        self._miss, self._spilled, self._block, self._width = miss, spilled, block, width

    def scope(self, scope: str) -> Iterator[Instruction]:
        """One entry into a scope."""
        trips = 1 if scope == ROOT else self._loops.played[scope]
        items = self._graph.scope(scope).items
        ops = {op.id: op for op in self._graph.ops_in(scope)}
        loads = [op for op in ops.values() if scope != ROOT and self._copies(op)]
        readers = {load.id: self._readers(load, list(ops.values())) for load in loads}
        last = {load.id: (readers[load.id][-1] if readers[load.id] else "") for load in loads}
        in_front = bool(loads) and len({*last.values()}) == 1 and last[loads[0].id] == items[-1]
        for load in loads:
            ahead = self._depth(load) - (1 if in_front else 0)
            for _ in range(min(ahead, trips)):
                yield from self._copy(load)
        for step in range(trips):
            if in_front:
                yield self._sync()
                for load in loads:
                    if step + self._depth(load) - 1 < trips:
                        yield from self._copy(load)
            for item in items:
                if item not in ops:
                    yield from self.scope(item)
                    continue
                op = ops[item]
                if op in loads:
                    continue
                needed = [load for load in loads if readers[load.id][:1] == [item]]
                for load in needed:
                    yield Drain(load.id, f"copy:{load.id}", max(0, self._depth(load) - 1))
                if needed:
                    yield self._sync()
                yield from self._operation(op)
                if not in_front:
                    for load in loads:
                        if last[load.id] == item and step + self._depth(load) < trips:
                            yield self._sync()
                            yield from self._copy(load)
            if scope != ROOT:
                yield Mark(scope, step)

    def _copies(self, op: Op) -> bool:
        return op.kind in LOADS

    def _depth(self, load: Op) -> int:
        return max(1, *(self._versions.get(access.buffer, 1) for access in load.writes))

    def _readers(self, load: Op, ops: list[Op]) -> list[str]:
        names = {access.buffer for access in load.writes}
        return [op.id for op in ops if any(access.buffer in names for access in op.reads)]

    def _copy(self, load: Op) -> Iterator[Instruction]:
        yield RunStep(self._costs.thread_copy(load, self._width, self._miss.get(load.id, 0.0)))
        yield Async(OperationCost(f"arrival {load.id}", (), tail=self._costs.machine.copy_latency), load.id)

    def _operation(self, op: Op) -> Iterator[Instruction]:
        if op.kind in (OpKind.BIND, OpKind.WAIT, OpKind.TASK):
            return
        if self._copies(op):
            yield from self._copy(op)
            yield Drain(op.id, f"copy:{op.id}")
            yield self._sync()
            return
        yield RunStep(self._costs.of(op, self._width, self._width * 4, self._miss.get(op.id, 0.0), self._spilled))
        if any(self._graph.buffer(access.buffer).memory is Memory.SHARED for access in op.writes):
            yield self._sync()

    def _sync(self) -> SyncStep:
        return SyncStep(self._block, self._width, self._costs.machine.sync_cycles)
