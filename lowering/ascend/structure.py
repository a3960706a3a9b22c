"""Reads the TIR that AutoSchedule is about to schedule into a :class:`Layout`. Imports TVM: child processes only.

By then every task is an ``AttrStmt`` ``tl.schedule_unit``, costs are in ``tl.ascend_task`` and loops carry their eligible
storages (``multi_buffer_eligible``); TileLang 0.1.15 wheel, ``src/ascend/transform/attr.h`` and
``annotate_multi_buffer_eligible.cc``.
"""

from typing import Any

from tilelang import tvm

from warpwright.lowering.ascend.layout import Layout, LoopNode, SchedulerTask, Storage
from warpwright.solver.domain import NotApplicable

__all__ = ["claimed_storages", "read_layout", "storage_name"]

tirx = tvm.tirx
_ON_CHIP = ("shared", "shared.dyn", "shared.l1", "shared.l0a", "shared.l0b", "shared.l0c")


def read_layout(function: Any, explicit: tuple[str, ...]) -> Layout:
    """The layout of a PrimFunc just before AutoSchedule.

    Raises:
        NotApplicable: ``not-applicable-structure`` if there are no scheduled units.
    """
    reader = _Reader(function)
    units = reader.units(function.body, guarded=False)
    if not units:
        raise NotApplicable("AutoSchedule finds no tasks in this kernel", code="not-applicable-structure", place="/ir")
    return Layout(
        name=str(function.attrs["global_symbol"]) if "global_symbol" in function.attrs else "kernel",
        grid=reader.grid,
        storages=reader.storages,
        globals=reader.globals,
        units=units,
        simt=reader.simt,
        explicit=explicit,
        affine=reader.affine,
    )


def claimed_storages(function: Any) -> tuple[str, ...]:
    """Storages that the user's own loop annotations claim as eligible, in order of appearance."""
    found: list[str] = []

    def visit(node: Any) -> None:
        if isinstance(node, tirx.For) and "multi_buffer_eligible" in node.annotations:
            for storage in node.annotations["multi_buffer_eligible"]:
                if str(storage.name) not in found:
                    found.append(str(storage.name))

    tirx.stmt_functor.post_order_visit(function.body, visit)
    return tuple(found)


def storage_name(buffer: Any) -> str:
    """Name of a buffer's storage: its data variable's."""
    return str(buffer.data.name)


class _Reader:
    """One walk over the function; collects storages and names units as it goes."""

    def __init__(self, function: Any) -> None:
        self.storages: dict[str, Storage] = {}
        self.globals: dict[str, tuple[tuple[int, ...], str]] = {}
        self.grid: int | None = None
        self.simt = False
        self.affine = True
        self._names: dict[str, int] = {}
        for buffer in function.buffer_map.values():
            self.globals[storage_name(buffer)] = (_shape(buffer), str(buffer.dtype))

    def units(self, statement: Any, *, guarded: bool) -> list[SchedulerTask]:
        """Units directly inside a statement, in order."""
        if isinstance(statement, tirx.SeqStmt):
            return [unit for part in statement.seq for unit in self.units(part, guarded=guarded)]
        if isinstance(statement, tirx.SBlockRealize):
            return self.units(statement.block, guarded=guarded)
        if isinstance(statement, tirx.SBlock):
            for buffer in statement.alloc_buffers:
                self._allocate(buffer)
            return self.units(statement.body, guarded=guarded)
        if isinstance(statement, tirx.AttrStmt):
            if statement.attr_key == "tl.schedule_unit":
                return [self._unit(statement, guarded)]
            if statement.attr_key == "thread_extent" and str(statement.node.thread_tag) == "blockIdx.x":
                self.grid = _integer(statement.value)
            return self.units(statement.body, guarded=guarded)
        if isinstance(statement, tirx.IfThenElse):
            found = self.units(statement.then_case, guarded=True)
            return found + (self.units(statement.else_case, guarded=True) if statement.else_case is not None else [])
        if isinstance(statement, tirx.For | tirx.While):
            return self.units(statement.body, guarded=guarded)
        body = getattr(statement, "body", None)
        return self.units(body, guarded=guarded) if body is not None else []

    def _unit(self, statement: Any, guarded: bool) -> SchedulerTask:
        stage = _stage(statement.node)
        body, guarded = _unwrapped(statement.body, guarded)
        if isinstance(body, tirx.For | tirx.While):
            return self._loop(body, guarded, stage)
        latency, interval = 0, 0
        if isinstance(body, tirx.AttrStmt) and body.attr_key == "tl.ascend_task":
            latency, interval = int(body.node.get("latency", 0)), int(body.node.get("ii", 0))
        accesses = self._accesses(statement.body)
        name = self._named(_verb(statement.body, self) + _object(accesses))
        return SchedulerTask(
            id=name,
            reads=accesses["reads"],
            writes=accesses["writes"],
            global_reads=accesses["global_reads"],
            global_writes=accesses["global_writes"],
            text=_first_line(statement.body),
            latency_cycles=latency,
            issue_cycles=interval,
            guarded=guarded,
            stage=stage,
        )

    def _loop(self, loop: Any, guarded: bool, stage: int | None) -> SchedulerTask:
        annotations = dict(loop.annotations)
        is_while = isinstance(loop, tirx.While)
        trips = None if is_while else _integer(loop.extent)
        if is_while or trips is None:
            self.affine = False
        node = LoopNode(
            variable="while" if is_while else str(loop.loop_var.name),
            trips=trips,
            num_stages=int(annotations.get("num_stages", 1)),
            enable_offset=bool(annotations.get("enable_offset", False)),
            eligible=tuple(str(storage.name) for storage in annotations.get("multi_buffer_eligible", ())),
        )
        name = self._named(node.variable)
        node.units = self.units(loop.body, guarded=guarded)
        union = {
            kind: tuple(dict.fromkeys(n for unit in node.units for n in getattr(unit, kind)))
            for kind in ("reads", "writes", "global_reads", "global_writes")
        }
        return SchedulerTask(
            id=name,
            reads=union["reads"],
            writes=union["writes"],
            global_reads=union["global_reads"],
            global_writes=union["global_writes"],
            text=f"for {node.variable} in {trips if trips is not None else 'a variable number of'} iterations",
            guarded=guarded,
            stage=stage,
            loop=node,
        )

    def _allocate(self, buffer: Any) -> None:
        name, scope = storage_name(buffer), str(buffer.scope())
        if scope not in _ON_CHIP or name in self.storages:
            return
        shape = _shape(buffer)
        bits = tvm.DataType(buffer.dtype).bits * tvm.DataType(buffer.dtype).lanes
        elements = 1
        for size in shape:
            elements *= size
        self.storages[name] = Storage(name, scope, shape, str(buffer.dtype), -(-elements * bits // 8))

    def _accesses(self, statement: Any) -> dict[str, tuple[str, ...]]:
        """Storages and tensors that a statement reads and writes, each in order of first appearance."""
        regions: list[Any] = []
        found: dict[str, list[str]] = {"reads": [], "writes": [], "global_reads": [], "global_writes": []}

        def add(buffer: Any, mask: int) -> None:
            name = storage_name(buffer)
            prefix = "" if name in self.storages else "global_" if name in self.globals else None
            if prefix is None:
                return
            for bit, kind in ((1, "reads"), (2, "writes")):
                if mask & bit and name not in found[prefix + kind]:
                    found[prefix + kind].append(name)

        def collect(node: Any) -> None:
            if isinstance(node, tirx.Call) and getattr(node.op, "name", "") in ("tl.region", "tl.access_ptr"):
                regions.append(node)

        def visit(node: Any) -> None:
            if isinstance(node, tirx.BufferStore):
                add(node.buffer, 2)
            elif isinstance(node, tirx.BufferLoad) and not any(r.args[0].same_as(node) for r in regions):
                add(node.buffer, 1)
            elif isinstance(node, tirx.AttrStmt) and node.attr_key == "tl.simtvf_scope":
                self.simt = True
            elif isinstance(node, tirx.SBlock):
                self.simt = self.simt or str(node.name_hint) == "SIMT_VF"
                for buffer in node.alloc_buffers:
                    self._allocate(buffer)

        tirx.stmt_functor.post_order_visit(statement, collect)
        for region in regions:
            mask = _integer(region.args[-1] if region.op.name == "tl.access_ptr" else region.args[1])
            add(region.args[0].buffer, mask if mask in (1, 2, 3) else 3)
        tirx.stmt_functor.post_order_visit(statement, visit)
        return {kind: tuple(names) for kind, names in found.items()}

    def _named(self, stem: str) -> str:
        count = self._names.get(stem, 0)
        self._names[stem] = count + 1
        return stem if count == 0 else f"{stem}_{count + 1}"


def _unwrapped(statement: Any, guarded: bool) -> tuple[Any, bool]:
    """The statement inside conditions and bindings that wrap a whole unit."""
    while isinstance(statement, tirx.IfThenElse) and statement.else_case is None:
        statement, guarded = statement.then_case, True
    return statement, guarded


def _stage(node: Any) -> int | None:
    try:
        stage = int(node["stage"])
    except (KeyError, TypeError, ValueError):
        return None
    return stage if stage >= 0 else None


def _verb(statement: Any, reader: _Reader) -> str:
    found: list[str] = []

    def visit(node: Any) -> None:
        if isinstance(node, tirx.Call):
            name = str(getattr(node.op, "name", ""))
            for key, verb in (("gemm", "gemm"), ("copy", "copy"), ("fill", "fill"), ("reduce", "reduce")):
                if key in name:
                    found.append(verb)
        elif isinstance(node, tirx.SBlock) and str(node.name_hint) in ("SIMT_VF", "SIMD_VF"):
            found.append("vector")

    tirx.stmt_functor.post_order_visit(statement, visit)
    for verb in ("gemm", "vector", "copy", "reduce", "fill"):
        if verb in found:
            return verb
    return "task"


def _object(accesses: dict[str, tuple[str, ...]]) -> str:
    for kind in ("writes", "global_writes", "reads", "global_reads"):
        if accesses[kind]:
            return f"_{accesses[kind][0]}"
    return ""


def _first_line(statement: Any) -> str:
    lines = [line.strip() for line in str(statement).splitlines()]
    skipped = ("#", "T.attr(", "with T.attr(", "@")
    useful = [line for line in lines if line and not line.startswith(skipped) and " = T.Buffer(" not in line]
    return useful[0][:160] if useful else ""


def _shape(buffer: Any) -> tuple[int, ...]:
    return tuple(_integer(size) or 0 for size in buffer.shape)


def _integer(value: Any) -> int | None:
    if isinstance(value, int):
        return value
    return int(value.value) if isinstance(value, tirx.IntImm) else None
