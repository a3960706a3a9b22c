"""The whole kernel as TileLang Python source, ids and schedule included, ready to paste. Runs in child processes only.

Executed again, the text gives the same IR: the tests compare the renaming-invariant hash of both.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from tilelang import tvm

from warpwright.lowering.frontend.settings_attributes import settings_of
from warpwright.lowering.frontend.statements import Guard, Leaf, Loop, Metadata, Node
from warpwright.lowering.frontend.walk import WalkedKernel, statements_of
from warpwright.lowering.materialize.block_annotations import annotation_lines
from warpwright.lowering.materialize.expressions import ExpressionWriter
from warpwright.lowering.materialize.names import Names
from warpwright.lowering.materialize.operators import operator_text
from warpwright.lowering.materialize.schedule_text import schedule_lines
from warpwright.solver.domain import NotApplicable, WarpSchedule

__all__ = ["kernel_source"]

tirx = tvm.tirx
_INDENT = "    "
FENCE = "T.fence_proxy_async()"
_ALLOCATIONS = {
    "shared.dyn": "T.alloc_shared({shape}, {dtype})",
    "shared": 'T.alloc_shared({shape}, {dtype}, scope="shared")',
    "local.fragment": "T.alloc_fragment({shape}, {dtype})",
    "local": "T.alloc_local({shape}, {dtype})",
    "local.var": "T.alloc_var({dtype})",
    "shared.tmem": "T.alloc_tmem({shape}, {dtype})",
}


def kernel_source(
    kernel: WalkedKernel,
    schedule: WarpSchedule | None,
    head: Sequence[str] = (),
    fences: Mapping[str, str] | None = None,
) -> str:
    """Source of a module that defines the kernel as ``@T.prim_func``; without a schedule it has no ids either.

    ``head`` are lines after the import; ``fences`` says which statements, by id, get a fence between proxies on which side
    (``before``, ``behind``), the two under the id.

    Raises:
        NotApplicable: ``source-not-writable`` for the rare IR that cannot be written in TileLang.
    """
    return _Writer(kernel, schedule, head, fences or {}).module()


class _Writer:
    def __init__(
        self, kernel: WalkedKernel, schedule: WarpSchedule | None, head: Sequence[str], fences: Mapping[str, str]
    ) -> None:
        self._kernel = kernel
        self._schedule = schedule
        self._head = head
        self._fences = fences
        self._names = Names(kernel)
        self._expressions = ExpressionWriter(self._names.of)
        self._lines: list[str] = []

    def module(self) -> str:
        function = self._kernel.function
        symbol = (
            str(function.attrs["global_symbol"]) if function.attrs and "global_symbol" in function.attrs else "main"
        )
        self._line(0, "import tilelang.language as T")
        self._line(0, "")
        for line in self._head:
            self._line(0, line)
        for var in self._names.symbolic:
            self._line(0, f'{self._names.of(var)} = T.dynamic("{var.name}"{_dtype_argument(var)})')
        self._line(0, "")
        self._line(0, "@T.prim_func")
        self._line(0, f"def {symbol}(")
        for parameter in function.params:
            self._line(1, f"{self._parameter(parameter)},")
        self._line(0, "):")
        settings = settings_of(function)
        if settings.configs:
            self._line(1, f"T.annotate_pass_configs({dict(settings.configs)!r})")
        if settings.flags:
            self._line(1, f"T.annotate_compile_flags({list(settings.flags)!r})")
        self._launch()
        return "\n".join(self._lines) + "\n"

    def _parameter(self, parameter: Any) -> str:
        if parameter not in self._kernel.function.buffer_map:
            return f"{self._names.of(parameter)}: T.{parameter.dtype}"
        buffer = self._kernel.function.buffer_map[parameter]
        shape, strides = self._tuple(buffer.shape), self._tuple(buffer.strides)
        dtype = f'"{buffer.dtype}"'
        if not buffer.strides or _is_row_major(buffer):
            return f"{self._names.of(buffer)}: T.Tensor({shape}, {dtype})"
        return f"{self._names.of(buffer)}: T.StridedTensor({shape}, {strides}, {dtype})"

    def _launch(self) -> None:
        kernel = self._kernel
        grid = ", ".join(self._expressions.text(extent) for extent in kernel.grid)
        names = [self._names.of(var) for var in kernel.block_vars]
        target = names[0] if len(names) == 1 else f"({', '.join(names)})"
        threads = f", threads={kernel.threads}" if "tl.launch_threads" in kernel.block.annotations else ""
        self._line(1, f"with T.Kernel({grid}{threads}) as {target}:")
        for buffer in kernel.block.alloc_buffers:
            self._allocation(buffer)
        for view, base in self._names.views:
            shape = self._tuple(view.shape)
            self._line(2, f'{self._names.of(view)} = T.view({self._names.of(base)}, {shape}, "{view.dtype}")')
        for line in annotation_lines(kernel.block.annotations, self._names, self._expressions):
            self._line(2, line)
        if self._schedule is not None:
            self._lines += schedule_lines(self._schedule, self._names.of_storage, _INDENT * 2)
        self._body(kernel.body, 2)

    def _allocation(self, buffer: Any) -> None:
        scope = str(buffer.scope())
        if scope not in _ALLOCATIONS:
            raise NotApplicable(f"an allocation in {scope!r}", code="source-not-writable", place=str(buffer.name))
        text = _ALLOCATIONS[scope].format(shape=self._tuple(buffer.shape), dtype=f'"{buffer.dtype}"')
        self._line(2, f"{self._names.of(buffer)} = {text}")

    def _body(self, nodes: list[Node], depth: int) -> None:
        for node in nodes:
            if isinstance(node, Leaf | Loop) and node.id in self._fences:
                self._line(depth, f'with T.ws_op("{node.id}"):')
                if self._fences[node.id] == "before":
                    self._line(depth + 1, FENCE)
                self._step(node, depth + 1)
                if self._fences[node.id] == "behind":
                    self._line(depth + 1, FENCE)
            elif isinstance(node, Leaf | Loop):
                self._step(node, depth)
            elif isinstance(node, Guard):
                self._line(depth, f"if {self._expressions.text(node.stmt.condition)}:")
                self._body(node.body, depth + 1)
            else:
                self._metadata(node, depth)

    def _step(self, node: Leaf | Loop, depth: int) -> None:
        if isinstance(node, Leaf):
            self._leaf(node, depth)
        else:
            self._loop(node, depth)

    def _metadata(self, node: Metadata, depth: int) -> None:
        stmt = node.stmt
        if str(stmt.attr_key) == "threadblock_swizzle_pattern":
            function, panel = str(stmt.value.args[0].value), int(stmt.value.args[1].value)
            order = {
                "rasterization2DRow": "",
                "rasterization2DColumn": ', order="column"',
                "rasterization2DMLX": ', order="mlx"',
            }
            self._line(depth, f"T.use_swizzle({panel}{order[function]})")
        elif str(stmt.attr_key) == "tl.min_blocks_per_sm":
            self._line(depth, f"T.annotate_min_blocks_per_sm({int(stmt.value.value)})")
        self._body(node.body, depth)

    def _leaf(self, leaf: Leaf, depth: int) -> None:
        stmt = leaf.stmt
        if isinstance(stmt, tirx.For) and leaf.wrapper is None:
            self._plain(stmt, depth, self._id(leaf.id))
            return
        if isinstance(stmt, tirx.Evaluate) and isinstance(stmt.value, tirx.Call) and leaf.wrapper is None:
            text = operator_text(stmt.value, self._expressions, self._names, self._id(leaf.id))
            if text:
                self._line(depth, text)
                return
        inner = self._named(leaf.id, depth)
        for part in statements_of(stmt):
            self._plain(part, inner, "")

    def _loop(self, loop: Loop, depth: int) -> None:
        stmt = loop.stmt
        if isinstance(stmt, tirx.While):
            inner = self._named(loop.id, depth)
            self._line(inner, f"while {self._expressions.text(stmt.condition)}:")
            self._body(loop.body, inner + 1)
            return
        self._line(depth, self._loop_header(stmt, self._id(loop.id)))
        self._body(loop.body, depth + 1)

    def _plain(self, stmt: Any, depth: int, op_id: str) -> None:
        """Scalar code: loops with stores, binds and conditions in them."""
        if isinstance(stmt, tirx.SeqStmt):
            for part in stmt.seq:
                self._plain(part, depth, "")
        elif isinstance(stmt, tirx.For):
            loops = _nest(stmt)
            self._line(depth, self._nest_header(loops, op_id) if len(loops) > 1 else self._loop_header(stmt, op_id))
            self._plain(loops[-1].body, depth + 1, "")
        elif isinstance(stmt, tirx.BufferStore):
            self._line(depth, f"{self._expressions.element(stmt)} = {self._expressions.text(stmt.value)}")
        elif isinstance(stmt, tirx.Bind):
            self._line(depth, f"{self._names.of(stmt.var)}: T.{stmt.var.dtype} = {self._expressions.text(stmt.value)}")
        elif isinstance(stmt, tirx.IfThenElse):
            self._line(depth, f"if {self._expressions.text(stmt.condition)}:")
            self._plain(stmt.then_case, depth + 1, "")
            if stmt.else_case is not None:
                self._line(depth, "else:")
                self._plain(stmt.else_case, depth + 1, "")
        elif isinstance(stmt, tirx.While):
            self._line(depth, f"while {self._expressions.text(stmt.condition)}:")
            self._plain(stmt.body, depth + 1, "")
        elif isinstance(stmt, tirx.Evaluate):
            self._line(depth, self._expressions.text(stmt.value))
        else:
            raise NotApplicable(f"a {type(stmt).__name__}", code="source-not-writable", place=str(stmt)[:160])

    def _nest_header(self, loops: list[Any], op_id: str) -> str:
        names = ", ".join(self._names.of(loop.loop_var) for loop in loops)
        extents = ", ".join(self._expressions.text(loop.extent) for loop in loops)
        return f"for {names} in T.Parallel({extents}{self._loop_options(loops[0], op_id)}):"

    def _loop_header(self, loop: Any, op_id: str) -> str:
        kinds = tirx.stmt.ForKind
        stages = loop.annotations.get("num_stages")
        zero = isinstance(loop.min, tirx.IntImm) and int(loop.min.value) == 0
        ends = [loop.extent] if zero else [loop.min, _stop(loop)]
        bounds = ", ".join(self._expressions.text(end) for end in ends)
        options = self._loop_options(loop, op_id)
        if loop.kind == kinds.SERIAL and stages is not None:
            kind, options = "T.Pipelined", f", num_stages={int(getattr(stages, 'value', stages))}{options}"
        else:
            kind = {
                kinds.SERIAL: "T.serial",
                kinds.UNROLLED: "T.unroll",
                kinds.PARALLEL: "T.Parallel",
                kinds.VECTORIZED: "T.vectorized",
            }[loop.kind]
        return f"for {self._names.of(loop.loop_var)} in {kind}({bounds}{options}):"

    def _loop_options(self, loop: Any, op_id: str) -> str:
        known = {"num_stages", "tl.ws_op_id"}
        unknown = [str(key) for key in loop.annotations if str(key) not in known]
        plain = {key: getattr(loop.annotations[key], "value", loop.annotations[key]) for key in unknown}
        if not all(isinstance(value, (int, str)) for value in plain.values()):
            raise NotApplicable(
                f"loop annotations {unknown}", code="source-not-writable", place=str(loop.loop_var.name)
            )
        parts = ([f'T.WSID: "{op_id}"'] if op_id else []) + [f'"{key}": {value!r}' for key, value in plain.items()]
        return f", annotations={{{', '.join(parts)}}}" if parts else ""

    def _id(self, name: str) -> str:
        """The id as it is written; only a schedule refers to it."""
        return name if self._schedule is not None else ""

    def _named(self, name: str, depth: int) -> int:
        """Opens a block that names its content, if names are written; returns the depth of the content."""
        if self._schedule is None:
            return depth
        self._line(depth, f'with T.ws_op("{name}"):')
        return depth + 1

    def _tuple(self, parts: Any) -> str:
        texts = [self._expressions.text(part) for part in parts]
        return f"({texts[0]},)" if len(texts) == 1 else f"({', '.join(texts)})"

    def _line(self, depth: int, text: str) -> None:
        self._lines.append(_INDENT * depth + text if text else "")


def _nest(loop: Any) -> list[Any]:
    """Parallel loops that ``T.Parallel(n, m)`` made: directly nested, all from zero, annotations on the outermost only."""
    loops = [loop]
    parallel = tirx.stmt.ForKind.PARALLEL
    while loops[-1].kind == parallel and isinstance(loops[-1].body, tirx.For) and loops[-1].body.kind == parallel:
        loops.append(loops[-1].body)
    return loops


def _stop(loop: Any) -> Any:
    """The upper bound as in the source: TileLang keeps ``stop - start`` as the extent."""
    extent = loop.extent
    if isinstance(extent, tirx.Sub) and tvm.ir.structural_equal(extent.b, loop.min):
        return extent.a
    return tvm.arith.Analyzer().simplify(loop.min + extent)


def _is_row_major(buffer: Any) -> bool:
    analyzer = tvm.arith.Analyzer()
    stride: Any = tirx.IntImm("int32", 1)
    for extent, actual in zip(reversed(list(buffer.shape)), reversed(list(buffer.strides)), strict=True):
        if not analyzer.can_prove_equal(actual, stride):
            return False
        stride = stride * extent
    return True


def _dtype_argument(var: Any) -> str:
    return "" if str(var.dtype) == "int32" else f', "{var.dtype}"'
