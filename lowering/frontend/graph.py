"""The kernel graph of a walked kernel: operations, scopes, dependences, totals. Runs in child processes only."""

from dataclasses import dataclass, field, replace
from typing import Any

from tilelang import tvm

from warpwright.lowering.frontend.accesses import Touch, clears_at_start, scalars_in, touches_of_expression
from warpwright.lowering.frontend.counting import count_runs
from warpwright.lowering.frontend.dependences import Apart, Item, dependences_of, summarise
from warpwright.lowering.frontend.layouts import layouts_of
from warpwright.lowering.frontend.operations import OperationReader
from warpwright.lowering.frontend.statements import Guard, Leaf, Loop, Metadata, Node
from warpwright.lowering.frontend.storage import Storages
from warpwright.lowering.frontend.walk import WalkedKernel, leaves
from warpwright.solver.domain import (
    ROOT,
    Dependence,
    HardwareProfile,
    KernelGraph,
    Memory,
    NotApplicable,
    Op,
    OpKind,
    Scope,
    ScopeKind,
    TargetFamily,
)

__all__ = ["read_graph"]

tirx = tvm.tirx


@dataclass(slots=True)
class _Reading:
    """What the pass over the tree has collected so far."""

    storages: Storages
    operations: OperationReader
    scalars: "_Scalars"
    ops: list[Op] = field(default_factory=list)
    scopes: list[Scope] = field(default_factory=list)
    dependences: list[Dependence] = field(default_factory=list)
    touched: set[str] = field(default_factory=set)
    matrix_operands: set[str] = field(default_factory=set)

    @property
    def told_apart(self) -> Apart:
        return Apart(self.storages.name, self.storages.alias)


class _Scalars:
    """Names of the scalars that the kernel binds, unique even if the source repeats one."""

    def __init__(self, kernel: WalkedKernel) -> None:
        self._vars: list[tuple[Any, str, Any]] = []
        taken = set[str]()
        for leaf in leaves(kernel.body):
            if isinstance(leaf.stmt, tirx.Bind):
                base, count = str(leaf.stmt.var.name) or "scalar", 1
                name = base
                while name in taken:
                    count += 1
                    name = f"{base}_{count}"
                taken.add(name)
                self._vars.append((leaf.stmt.var, name, leaf.stmt.value))

    def name(self, var: Any) -> str | None:
        return next((name for known, name, _ in self._vars if known.same_as(var)), None)

    def touches(self, expression: Any) -> list[Touch]:
        """The buffers that a value is read from, also through bound scalars."""
        values = [value for var in scalars_in(expression) for known, _, value in self._vars if known.same_as(var)]
        return [*touches_of_expression(expression), *(touch for value in values for touch in self.touches(value))]


def read_graph(kernel: WalkedKernel, profile: HardwareProfile) -> KernelGraph:
    """The graph of a kernel on a device.

    Raises:
        NotApplicable: the walk accepted it, but no schedule can express it (dynamic loops, guards that roles disagree on).
        ProfileError: the device lacks a rate that a cost needs.
    """
    storages = Storages(kernel)
    scalars = _Scalars(kernel)
    reading = _Reading(storages, OperationReader(storages, profile, scalars.name), scalars)
    items = _read_items(reading, ROOT, kernel.body, None)
    reading.scopes.append(Scope(ROOT, ScopeKind.ROOT, None, 1, tuple(item.id for item in items)))
    _check_uniform(reading)
    grid = tuple(_constant(extent) for extent in kernel.grid)
    runs = count_runs(kernel)
    symbol = kernel.function.attrs.get("global_symbol") if kernel.function.attrs else None
    layouts = layouts_of(kernel, profile.arch, [op.gemm for op in reading.ops if op.gemm is not None])
    buffers = storages.domain(reading.matrix_operands, reading.touched, layouts.registers)
    return KernelGraph(
        name=str(symbol or "main"),
        family=TargetFamily.CUDA,
        arch=profile.arch,
        threads=kernel.threads,
        grid=grid,
        buffers=buffers,
        ops=tuple(replace(op, runs=runs.get(op.id, 0) if runs is not None else None) for op in reading.ops),
        scopes=tuple(reversed(reading.scopes)),
        dependences=tuple(reading.dependences),
        min_blocks_per_sm=_metadata(kernel.body, "tl.min_blocks_per_sm") or 1,
        swizzle=_metadata(kernel.body, "threadblock_swizzle_pattern") is not None,
        flops=_flops(runs, reading.ops),
        global_bytes=_global_bytes(buffers),
        refused_widths=layouts.refused,
    )


def _read_items(reading: _Reading, scope_id: str, body: list[Node], loop: Any | None) -> list[Item]:
    """Read the items directly in one scope and record the scope's dependences; ``loop`` None is the root."""
    items: list[Item] = []
    _read_nodes(reading, scope_id, body, [], items, loop)
    inner = _bound_in(body)
    reading.dependences += dependences_of(scope_id, items, reading.told_apart, loop=loop, inner=inner)
    return items


def _read_nodes(
    reading: _Reading, scope_id: str, nodes: list[Node], guards: list[Any], items: list[Item], loop: Any | None
) -> None:
    for node in nodes:
        if isinstance(node, Leaf):
            items.append(_read_leaf(reading, node, scope_id, guards, loop))
        elif isinstance(node, Loop):
            items.append(_read_loop(reading, node, scope_id, guards))
        elif isinstance(node, Guard):
            _read_nodes(reading, scope_id, node.body, [*guards, node.stmt.condition], items, loop)
        else:
            _read_nodes(reading, scope_id, node.body, guards, items, loop)


def _read_leaf(reading: _Reading, leaf: Leaf, scope_id: str, guards: list[Any], loop: Any | None) -> Item:
    op, touches = reading.operations.read(leaf, scope_id, guards)
    if not guards and loop is not None and clears_at_start(leaf.stmt, loop):
        op = replace(op, clears_at_start=True)
        results = {access.buffer for access in op.writes}
        touches = [
            replace(touch, of_own=not touch.write and reading.storages.name(touch.buffer) in results)
            for touch in touches
        ]
    reading.ops.append(op)
    names = {reading.storages.name(touch.buffer) for touch in touches}
    reading.touched |= names
    if op.kind in (OpKind.GEMM, OpKind.TMA_LOAD, OpKind.TMA_STORE):
        reading.matrix_operands |= names
    reads = [touch for touch in touches if not touch.write]
    writes = [touch for touch in touches if touch.write]
    sure = [touch for touch in writes if touch.dense or touch.covers]
    return Item(leaf.id, reads, list(reads), writes, sure)


def _read_loop(reading: _Reading, loop: Loop, scope_id: str, guards: list[Any]) -> Item:
    stmt = loop.stmt
    is_for = isinstance(stmt, tirx.For)
    control = [stmt.min, stmt.extent] if is_for else [stmt.condition]
    _check_control(reading, loop, control)
    trips = _constant(stmt.extent) if is_for else None
    items = _read_items(reading, loop.id, loop.body, stmt)
    touches = [touch for part in (*control, *guards) for touch in touches_of_expression(part)]
    names = sorted({reading.storages.name(touch.buffer) for touch in touches})
    reading.touched |= set(names)
    used = {reading.scalars.name(var) for part in (*control, *guards) for var in scalars_in(part)}
    reading.scopes.append(
        Scope(
            id=loop.id,
            kind=_scope_kind(stmt),
            parent=scope_id,
            trips=trips,
            items=tuple(item.id for item in items),
            num_stages=_stages(stmt) if is_for else 0,
            variable=str(stmt.loop_var.name) if is_for else "",
            zero_based=not is_for or _constant(stmt.min) == 0,
            guarded=bool(guards),
            reads=tuple(names),
            uses_scalars=tuple(sorted(name for name in used if name is not None)),
        )
    )
    certain = trips is not None and trips >= 1 and not guards
    inner = _bound_in(loop.body)
    item = summarise(loop.id, items, reading.told_apart, loop=stmt, inner=inner, certain=certain)
    item.reads += touches
    item.exposed += touches
    return item


def _check_control(reading: _Reading, loop: Loop, control: list[Any]) -> None:
    """A loop's trips may depend on parameters, indices, loop variables and the thread's own variables.

    The content of other memory is unknown before the launch, so a schedule for it could neither be checked nor ranked.
    """
    for expression in control:
        memories = {
            touch.buffer: reading.storages.memory(touch.buffer) for touch in reading.scalars.touches(expression)
        }
        data = [reading.storages.name(buffer) for buffer, memory in memories.items() if memory is not Memory.LOCAL]
        if data:
            message = f"how often the loop {loop.id!r} runs depends on data in {data[0]}"
            raise NotApplicable(message, code="dynamic-scope", place=loop.id)


def _check_uniform(reading: _Reading) -> None:
    """Roles must agree on whether they enter a loop: its guard reads no storage that an operation writes, locals excepted."""
    written = {access.buffer for op in reading.ops for access in op.writes}
    memories = {name: reading.storages.memory(buffer) for name, buffer in reading.storages.tvm_buffers().items()}
    for scope in reading.scopes:
        for name in scope.reads:
            if name in written and memories[name] not in (Memory.LOCAL, Memory.FRAGMENT):
                message = f"whether {scope.id!r} runs depends on {name!r}, which the kernel writes"
                raise NotApplicable(message, code="guard-not-uniform", place=scope.id)


def _bound_in(body: list[Node]) -> list[Any]:
    """Variables that get their values inside a body: bound scalars and the variables of inner loops."""
    found: list[Any] = []
    for node in body:
        if isinstance(node, Leaf):
            found += [node.stmt.var] if isinstance(node.stmt, tirx.Bind) else []
            continue
        if isinstance(node, Loop) and isinstance(node.stmt, tirx.For):
            found.append(node.stmt.loop_var)
        found += _bound_in(node.body)
    return found


def _scope_kind(stmt: Any) -> ScopeKind:
    if isinstance(stmt, tirx.While):
        return ScopeKind.WHILE
    return ScopeKind.UNROLLED if stmt.kind == tirx.stmt.ForKind.UNROLLED else ScopeKind.SERIAL


def _stages(loop: Any) -> int:
    value = loop.annotations.get("num_stages")
    return int(getattr(value, "value", value)) if value is not None else 0


def _metadata(nodes: list[Node], key: str) -> int | None:
    for node in nodes:
        if isinstance(node, Metadata):
            if str(node.stmt.attr_key) == key:
                return _constant(node.stmt.value) or 0
            found = _metadata(node.body, key)
            if found is not None:
                return found
    return None


def _flops(runs: dict[str, int] | None, ops: list[Op]) -> int:
    """Two per multiply-add of the matrix products; kernels without products count one operation per element. 0 if not known."""
    if runs is None:
        return 0
    products = [op for op in ops if op.gemm is not None]
    if products:
        return sum(2 * op.gemm.m * op.gemm.n * op.gemm.k * runs.get(op.id, 0) for op in products if op.gemm)
    busy = [op for op in ops if op.kind in (OpKind.PARALLEL, OpKind.REDUCE)]
    return sum(op.elements * runs.get(op.id, 0) for op in busy)


def _global_bytes(buffers: tuple[Any, ...]) -> int:
    device = [buffer for buffer in buffers if buffer.memory is Memory.GLOBAL]
    return 0 if any(buffer.bytes == 0 for buffer in device) else sum(buffer.bytes for buffer in device)


def _constant(value: Any) -> int | None:
    return int(value.value) if isinstance(value, tirx.IntImm) else None
