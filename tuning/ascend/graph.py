"""An Ascend kernel as a KernelGraph: tasks with their pipes and HBM ports, loops, dependences, and the closed scheduler calls.

Plain Python: it joins what the lowering recorded (:mod:`warpwright.lowering.ascend.layout`) with the calls that
AutoSchedule made.
"""

from collections.abc import Mapping, Sequence

from warpwright.lowering.ascend.layout import CAPACITY_KEYS, Layout, LoopNode, SchedulerTask, Storage
from warpwright.solver.ascend.problem import PIPE_BITS, LoopProblem
from warpwright.solver.domain import (
    ROOT,
    Access,
    Buffer,
    Dependence,
    HardwareProfile,
    Hazard,
    Issue,
    KernelGraph,
    Memory,
    Op,
    OpKind,
    Pins,
    Scope,
    ScopeKind,
    TargetFamily,
    Unit,
    UnitUse,
)
from warpwright.tuning.ascend.plan import Asked

__all__ = ["read_graph"]

_VERBS = {
    "gemm": OpKind.GEMM,
    "copy": OpKind.COPY,
    "fill": OpKind.FILL,
    "reduce": OpKind.REDUCE,
    "vector": OpKind.PARALLEL,
}


def read_graph(
    layout: Layout,
    asked: Sequence[Asked],
    profile: HardwareProfile,
    pins: Pins,
    shared: Mapping[str, tuple[str, ...]],
) -> KernelGraph:
    """The graph of one lowering.

    Args:
        layout: The kernel before AutoSchedule.
        asked: The scheduler calls in order.
        profile: Gives the alignment of each memory.
        pins: What the source annotates.
        shared: Storages that the compiler proved never to be live together.
    """
    flags = {
        name: asked_call.problem.resource_flags[index]
        for asked_call in asked
        for index, name in enumerate(asked_call.call.items)
    }
    ops, scopes = _Walk(layout, flags).result()
    return KernelGraph(
        name=layout.name,
        family=TargetFamily.ASCEND,
        arch=profile.arch,
        threads=1,
        grid=(layout.grid,),
        buffers=_buffers(layout, profile, shared),
        ops=ops,
        scopes=scopes,
        dependences=tuple(d for call in asked for d in _dependences(call, layout)),
        pins=pins,
        calls=tuple(call.call for call in asked),
        simt=layout.simt,
    )


def _buffers(layout: Layout, profile: HardwareProfile, shared: Mapping[str, tuple[str, ...]]) -> tuple[Buffer, ...]:
    owners: dict[str, list[str]] = {}

    def walk(units: list[SchedulerTask]) -> None:
        for unit in units:
            if unit.loop is not None:
                for name in unit.loop.eligible:
                    owners.setdefault(name, []).append(unit.id)
                walk(unit.loop.units)

    walk(layout.units)
    tensors = [
        Buffer(name, Memory.GLOBAL, shape, dtype, 0, private=False) for name, (shape, dtype) in layout.globals.items()
    ]
    return (
        *tensors,
        *(
            _on_chip(storage, profile, tuple(owners.get(storage.name, ())), shared.get(storage.name, ()))
            for storage in layout.storages.values()
        ),
    )


def _on_chip(storage: Storage, profile: HardwareProfile, owners: tuple[str, ...], share: tuple[str, ...]) -> Buffer:
    section = CAPACITY_KEYS[storage.scope]
    path = f"{section}.alignment"
    return Buffer(
        name=storage.name,
        memory=Memory(section),
        shape=storage.shape,
        dtype=storage.dtype,
        bytes=storage.bytes,
        private=False,
        alignment_bytes=profile.integer(path, "bytes") if profile.has(path) else 32,
        source_scope=storage.scope,
        owners=owners,
        may_share=share,
    )


class _Walk:
    """Operations and scopes of the unit tree."""

    def __init__(self, layout: Layout, flags: Mapping[str, int]) -> None:
        self._layout = layout
        self._flags = flags
        self._ops: list[Op] = []
        self._scopes: list[Scope] = []

    def result(self) -> tuple[tuple[Op, ...], tuple[Scope, ...]]:
        """Operations in source order, scopes outside in."""
        items = tuple(unit.id for unit in self._layout.units)
        self._scopes.append(Scope(ROOT, ScopeKind.ROOT, None, 1, items))
        self._enter(self._layout.units, ROOT)
        return tuple(self._ops), tuple(self._scopes)

    def _enter(self, units: list[SchedulerTask], scope: str) -> None:
        for unit in units:
            if unit.loop is None:
                self._ops.append(self._op(unit, scope))
            else:
                self._scopes.append(_scope(unit, unit.loop, scope))
                self._enter(unit.loop.units, unit.id)

    def _op(self, unit: SchedulerTask, scope: str) -> Op:
        flags = self._flags.get(unit.id, 0)
        uses = [UnitUse(Unit(name), unit.issue_cycles) for name, bit in PIPE_BITS.items() if flags & bit]
        uses += [UnitUse(port, unit.issue_cycles) for port in self._ports(unit)]
        names = {**{n: s.bytes for n, s in self._layout.storages.items()}, **dict.fromkeys(self._layout.globals, 0)}
        return Op(
            id=unit.id,
            kind=_VERBS.get(unit.id.split("_", 1)[0], OpKind.TASK),
            scope=scope,
            issue=Issue.ASYNCHRONOUS,
            latency_cycles=unit.latency_cycles,
            uses=tuple(uses),
            reads=tuple(Access(n, names.get(n, 0)) for n in (*unit.global_reads, *unit.reads)),
            writes=tuple(Access(n, names.get(n, 0)) for n in (*unit.writes, *unit.global_writes)),
            text=unit.text,
            guarded=unit.guarded,
        )

    def _ports(self, unit: SchedulerTask) -> list[Unit]:
        """HBM ports of a transfer: vector and cube loads have one each, stores a third."""
        ports = []
        if unit.global_reads and unit.writes:
            scope = self._layout.storages[unit.writes[0]].scope
            vector = CAPACITY_KEYS[scope] == "ub"
            ports.append(Unit.HBM_VECTOR_LOAD if vector else Unit.HBM_CUBE_LOAD)
        if unit.global_writes:
            ports.append(Unit.HBM_STORE)
        return ports


def _scope(unit: SchedulerTask, loop: LoopNode, parent: str) -> Scope:
    return Scope(
        id=unit.id,
        kind=ScopeKind.WHILE if loop.variable == "while" else ScopeKind.SERIAL,
        parent=parent,
        trips=loop.trips,
        items=tuple(inner.id for inner in loop.units),
        num_stages=loop.num_stages,
        variable=loop.variable,
        guarded=unit.guarded,
        enable_offset=loop.enable_offset,
    )


def _dependences(asked: Asked, layout: Layout) -> list[Dependence]:
    """The call's dependences by name; a distance that depends on versions has the value for the chosen count."""
    units = {unit.id: unit for unit in _all_units(layout.units)}
    found: dict[tuple[str, str, str, int], Dependence] = {}
    for row in asked.problem.data_deps:
        source, target = asked.call.items[row[0]], asked.call.items[row[1]]
        distance = row[2] if isinstance(asked.problem, LoopProblem) else 0
        buffer = ""
        if distance < 0:
            index = -distance - 1
            buffer = asked.call.buffers[index] if index < len(asked.call.buffers) else ""
            distance = asked.answer.versions[index]
        buffer = buffer or _common(units[source], units[target])
        hazard = _hazard(units[source], units[target], buffer)
        found[source, target, buffer, distance] = Dependence(source, target, hazard, buffer, asked.call.scope, distance)
    return list(found.values())


def _all_units(units: list[SchedulerTask]) -> list[SchedulerTask]:
    return [inner for unit in units for inner in (unit, *(_all_units(unit.loop.units) if unit.loop else ()))]


def _common(source: SchedulerTask, target: SchedulerTask) -> str:
    """A storage that both access and at least one writes."""
    for name in source.writes:
        if name in target.reads or name in target.writes:
            return name
    return next((name for name in source.reads if name in target.writes), "")


def _hazard(source: SchedulerTask, target: SchedulerTask, buffer: str) -> Hazard:
    if buffer in source.writes:
        return Hazard.RAW if buffer in target.reads else Hazard.WAW
    return Hazard.WAR
