"""From a schedule to instruction streams: one per consumer warpgroup, one per role that only issues.

Semantics are those of TileLang 0.1.15's materialiser: stages shift an entry by whole iterations inside its role's body, an
operation takes the stage of the open spans of the pipelines it touches, versions and parities follow the entry's own count
(wheel, src/cuda/transform/materialize_ws_schedule.cc:1863-1936, 2495-2553).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from warpwright.solver.device.cycles import LOADS
from warpwright.solver.device.operation_costs import OperationCost, OperationCosts
from warpwright.solver.device.stream_steps import Crew, crew_of, step_of
from warpwright.solver.domain import (
    ROOT,
    Fence,
    KernelGraph,
    Op,
    OpKind,
    OpRef,
    Pipeline,
    Role,
    Sync,
    SyncKind,
    WarpSchedule,
)
from warpwright.solver.domain import Instruction as Entry
from warpwright.solver.forecast.events import (
    Arrive,
    Async,
    Barrier,
    Commit,
    Drain,
    Instruction,
    Mark,
    RunStep,
    Stream,
    SyncStep,
    WaitStep,
)
from warpwright.solver.forecast.loops import Loops

__all__ = ["BlockProgram", "stages_of"]

PRODUCTS = "products"
"""Group of the products that a stream has in flight: waits and commits of the tensor core count them in order of issue."""


def stages_of(schedule: WarpSchedule, graph: KernelGraph, scope: str, role: str) -> list[tuple[Entry, int]]:
    """The role's entries of a scope with their delta: their stage minus the body's smallest (rule of MWS:1863-1936)."""
    body = schedule.program(scope).body(role)
    pipelines = {name: pipeline.name for pipeline in schedule.pipelines for name in pipeline.buffers}
    lowest = min((entry.stage for entry in body if isinstance(entry, Sync)), default=0)
    open_stages: dict[str, int] = {}
    result: list[tuple[Entry, int]] = []
    for entry in body:
        if isinstance(entry, Sync):
            if entry.sync in (SyncKind.PRODUCER_ACQUIRE, SyncKind.CONSUMER_WAIT):
                open_stages[entry.pipeline] = entry.stage
            else:
                open_stages.pop(entry.pipeline, None)
            result.append((entry, entry.stage - lowest))
            continue
        if isinstance(entry, Fence):
            touched = {entry.pipeline}
        else:
            touched = {pipelines[name] for name in _buffers(graph, entry.id) if name in pipelines}
        found = [open_stages[name] for name in sorted(touched) if name in open_stages]
        result.append((entry, found[0] - lowest if found else 0))
    return result


def _buffers(graph: KernelGraph, item: str) -> set[str]:
    """Buffers touched by an operation, or by everything inside a child scope."""
    for op in graph.ops:
        if op.id == item:
            return {access.buffer for access in (*op.reads, *op.writes)}
    return {name for child in graph.scope(item).items for name in _buffers(graph, child)}


@dataclass(slots=True)
class BlockProgram:
    """Streams of one resident block.

    ``miss`` is the share of loaded bytes that comes from memory, by operation; ``spilled`` the registers of a thread that
    do not fit, by role; ``block`` distinguishes blocks on one SM.
    """

    graph: KernelGraph
    schedule: WarpSchedule
    costs: OperationCosts
    loops: Loops
    miss: Mapping[str, float]
    spilled: Mapping[str, int]
    block: int = 0
    _barriers: dict[tuple[str, str], list[Barrier]] = field(default_factory=dict)
    _by_id: dict[str, Op] = field(default_factory=dict)
    _crews: dict[str, Crew] = field(default_factory=dict)
    _committed: dict[tuple[str, str, SyncKind], bool] = field(default_factory=dict)

    def streams(self) -> list[Stream]:
        """The block's streams, roles in the schedule's order."""
        self._by_id = {op.id: op for op in self.graph.ops}
        latency = self.costs.machine.limits.barrier_latency_cycles
        widths = {role.name: self._crew(role).streams for role in self.schedule.roles}
        for pipeline in self.schedule.pipelines:
            producer, consumer = self._sides(pipeline)
            self._barriers[(pipeline.name, "full")] = [
                Barrier(f"full:{pipeline.name}", widths.get(producer, 1), latency) for _ in range(pipeline.depth)
            ]
            self._barriers[(pipeline.name, "empty")] = [
                Barrier(f"empty:{pipeline.name}", widths.get(consumer, 1), latency) for _ in range(pipeline.depth)
            ]
        result: list[Stream] = []
        for role in self.schedule.roles:
            width = widths[role.name]
            instructions = list(self._scope(ROOT, role, {}))
            for index in range(width):
                name = f"{role.name}.{index}" if width > 1 else role.name
                result.append(Stream(f"{name}@{self.block}" if self.block else name, role.name, instructions))
        return result

    def _crew(self, role: Role) -> Crew:
        """Streams of a role: its warpgroups if all threads share its work; a role that only issues bulk copies is one."""
        if role.name not in self._crews:
            placed = self._placed(role)
            plain = [op.id for op in placed if self._plain(op)]
            self._crews[role.name] = crew_of(self.costs, placed, role.warps, plain)
        return self._crews[role.name]

    def _plain(self, op: Op) -> bool:
        """Whether a load runs as a plain copy: no pipeline protects what it fills."""
        return op.kind in LOADS and not self._pipeline(op)

    def _placed(self, role: Role) -> list[Op]:
        ids = {e.id for p in self.schedule.scopes for e in p.body(role.name) if isinstance(e, OpRef)}
        return [op for op in self.graph.ops if op.id in ids]

    def _sides(self, pipeline: Pipeline) -> tuple[str, str]:
        producer = consumer = ""
        for program in self.schedule.scopes:
            for body in program.bodies:
                for entry in body.instructions:
                    if isinstance(entry, Sync) and entry.pipeline == pipeline.name:
                        if entry.sync in (SyncKind.PRODUCER_ACQUIRE, SyncKind.PRODUCER_COMMIT):
                            producer = body.role
                        else:
                            consumer = body.role
        return producer, consumer

    def _scope(self, scope: str, role: Role, counts: dict[tuple[str, SyncKind], int]) -> Iterator[Instruction]:
        """Instructions of one entry into a scope, in issue order."""
        entries = stages_of(self.schedule, self.graph, scope, role.name)
        trips = 1 if scope == ROOT else self.loops.played[scope]
        shift = max((delta for _, delta in entries), default=0)
        for step in range(trips + shift):
            for entry, delta in entries:
                if not 0 <= step - delta < trips:
                    continue
                if isinstance(entry, Sync):
                    yield from self._sync(entry, role, counts)
                elif isinstance(entry, Fence):
                    yield RunStep(self.costs.fence())
                elif entry.id in self._by_id:
                    yield from self._op(self._by_id[entry.id], role)
                else:
                    yield from self._scope(entry.id, role, counts)
            if scope != ROOT:
                yield Mark(scope, step)

    def _sync(self, sync: Sync, role: Role, counts: dict[tuple[str, SyncKind], int]) -> Iterator[Instruction]:
        pipeline = self.schedule.pipeline(sync.pipeline)
        index = counts.get((sync.pipeline, sync.sync), 0)
        counts[(sync.pipeline, sync.sync)] = index + 1
        slot, parity = index % pipeline.depth, index // pipeline.depth & 1
        full, empty = (self._barriers[(pipeline.name, side)][slot] for side in ("full", "empty"))
        match sync.sync:
            case SyncKind.PRODUCER_ACQUIRE:
                yield WaitStep(empty, parity ^ 1, empty.name)
            case SyncKind.CONSUMER_WAIT:
                yield WaitStep(full, parity, full.name)
            case SyncKind.PRODUCER_COMMIT:
                yield Commit(full, PRODUCTS if self._by_tensor_core(role, sync) else pipeline.name)
            case SyncKind.CONSUMER_RELEASE if self._by_tensor_core(role, sync):
                yield Commit(empty, PRODUCTS)
            case SyncKind.CONSUMER_RELEASE:
                yield from self._arrivals(role)
                yield Arrive(empty)

    def _by_tensor_core(self, role: Role, sync: Sync) -> bool:
        """Whether products into tensor memory fill or read the pipeline in this role: then tcgen05.commit arrives for them."""
        key = (role.name, sync.pipeline, sync.sync)
        if key not in self._committed:
            buffers = self.schedule.pipeline(sync.pipeline).buffers
            self._committed[key] = any(
                access.buffer in buffers
                for op in self._placed(role)
                if self.costs.in_tensor_memory(op)
                for access in (op.writes if sync.sync is SyncKind.PRODUCER_COMMIT else op.reads)
            )
        return self._committed[key]

    def _arrivals(self, role: Role) -> Iterator[Instruction]:
        """All threads of a stream arrive on one word of shared memory, one after the other."""
        cycles = self.costs.arrival_cycles(role.warps)
        if cycles > 0:
            yield RunStep(self.costs.arrival(cycles))

    def _op(self, op: Op, role: Role) -> Iterator[Instruction]:
        if op.kind is OpKind.TASK:
            return
        crew, plain = self._crew(role), self._plain(op)
        step = step_of(self.costs, op, crew, self.miss.get(op.id, 0.0), self.spilled.get(role.name, 0), plain=plain)
        barrier = SyncStep(f"{role.name}@{self.block}:{op.id}", crew.streams, self.costs.machine.sync_cycles)
        if step.barrier_before:
            yield barrier
        if step.holds:
            yield RunStep(step.job)
        else:
            yield RunStep(self.costs.issue())
            yield Async(step.job, self._pipeline(op) if op.kind is OpKind.TMA_LOAD else PRODUCTS)
        if op.kind is OpKind.WAIT:
            yield Drain(PRODUCTS, "wgmma", op.pending)
        if step.behind:
            group = op.id if step.waits else self._pipeline(op)
            yield Async(OperationCost(f"arrival {op.id}", (), tail=step.behind), group)
        if step.waits:
            yield Drain(op.id, f"copy:{op.id}")
        if step.barrier_after:
            yield barrier

    def _pipeline(self, op: Op) -> str:
        for pipeline in self.schedule.pipelines:
            if any(access.buffer in pipeline.buffers for access in op.writes):
                return pipeline.name
        return ""
