"""The single walk over a kernel's statements. Runs in child processes only: it reads TVM objects.

The frontend makes operations from it, materialize writes ids into it; both see the same statements in the same order with
the same ids. The tree keeps every statement of the source except fences between proxies, so that the kernel can be rebuilt.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tilelang import tvm

from warpwright.lowering.frontend.launch import check_launch, is_kernel_block
from warpwright.lowering.frontend.naming import Namer
from warpwright.lowering.frontend.operators import TILE_OPERATORS, operator_verdict
from warpwright.lowering.frontend.statements import Guard, Leaf, Loop, Metadata, Node
from warpwright.solver.domain import ROOT, NotApplicable

__all__ = ["WalkedKernel", "leaves", "walk_kernel"]

tirx = tvm.tirx
OP_ID = "tl.ws_op_id"
FENCE = "tl.fence_proxy_async"
PIPELINE_DEPTH = "tl.ws_pipeline_depth"
DEFAULT_THREADS = 128
"""Threads of a ``T.Kernel`` without ``threads=`` on a device with threads (``tilelang.transform.DEFAULT_SIMT_THREADS``)."""


@dataclass(slots=True)
class WalkedKernel:
    """The one kernel of a function: its block, launch, and the statements of its body."""

    function: Any
    block: Any
    grid: tuple[Any, ...]
    block_vars: tuple[Any, ...]
    threads: int
    thread_vars: tuple[Any, ...]
    body: list[Node] = field(default_factory=list)


def walk_kernel(function: Any, *, fences: bool = False) -> WalkedKernel:
    """The kernel of a ``PrimFunc`` with every statement named; its own ``fences`` between proxies on request.

    Raises:
        NotApplicable: the code names what no warp schedule can express (``else-branch``, ``cluster-launch``, ...).
        NotBuildable: as :func:`check_launch`.
    """
    kernel = _find_kernel(function)
    if "tl.ws_schedule" in kernel.block.annotations:
        raise NotApplicable("the kernel already carries a schedule", code="already-scheduled", place=ROOT)
    kernel.body = _nodes(kernel.block.body, top=True, fences=fences)
    _check_thread_index(kernel)
    _name(kernel)
    return kernel


def leaves(nodes: list[Node]) -> Iterator[Leaf]:
    """Every leaf below these nodes, in source order."""
    for node in nodes:
        if isinstance(node, Leaf):
            yield node
        else:
            yield from leaves(node.body)


def statements_of(stmt: Any) -> list[Any]:
    """The statements of a body: those of a sequence, or the single one."""
    if isinstance(stmt, tirx.SeqStmt):
        return [inner for part in stmt.seq for inner in statements_of(part)]
    return [stmt]


def operators_in(stmt: Any) -> list[str]:
    """Names of the operators that a statement or expression calls, in post order."""
    names: list[str] = []

    def visit(node: Any) -> None:
        if isinstance(node, tirx.Call):
            names.append(str(getattr(node.op, "name", node.op)))

    tirx.stmt_functor.post_order_visit(stmt, visit)
    return names


def _find_kernel(function: Any) -> WalkedKernel:
    check_launch(function)
    found: list[WalkedKernel] = []
    _search(function, function.body, (), (), found, [])
    return found[0]


def _search(
    function: Any,
    stmt: Any,
    grid: tuple[Any, ...],
    block_vars: tuple[Any, ...],
    found: list[WalkedKernel],
    threads: list[Any],
) -> None:
    """Follow the launch structure: the root block, one thread-bound loop per grid dimension, then the kernel's block."""
    for part in statements_of(stmt):
        if isinstance(part, tirx.SBlockRealize):
            block = part.block
            if is_kernel_block(block):
                if "cluster_dims" in block.annotations:
                    raise NotApplicable("the kernel launches clusters", code="cluster-launch", place=ROOT)
                named = block.annotations.get("tl.launch_threads", (DEFAULT_THREADS,))
                extents = [_constant(extent) for extent in named]
                if any(extent is None for extent in extents) or any(extent != 1 for extent in extents[1:]):
                    message = f"warp roles partition one thread dimension; the kernel has threads={extents}"
                    raise NotApplicable(message, code="threads-not-one-dimensional", place=ROOT)
                found.append(WalkedKernel(function, block, grid, block_vars, extents[0] or 0, tuple(threads)))
            else:
                _search(function, block.body, grid, block_vars, found, threads)
        elif isinstance(part, tirx.For) and part.thread_binding is not None:
            tag = str(part.thread_binding.thread_tag)
            if not tag.startswith("blockIdx."):
                raise NotApplicable(f"a loop bound to {tag}", code="thread-bound-loop", place=ROOT)
            _search(function, part.body, (*grid, part.extent), (*block_vars, part.loop_var), found, threads)
        elif isinstance(part, tirx.Bind):
            if "tl.launch_thread_idx" in operators_in(part.value):
                threads.append(part.var)
        elif isinstance(part, tirx.AttrStmt):
            _search(function, part.body, grid, block_vars, found, threads)
        else:
            message = f"a {type(part).__name__} statement outside the kernel runs on the host"
            raise NotApplicable(message, code="host-code", place=ROOT)


def _constant(value: Any) -> int | None:
    if isinstance(value, int):
        return value
    return int(value.value) if isinstance(value, tirx.IntImm) else None


def _nodes(stmt: Any, *, top: bool, fences: bool) -> list[Node]:
    nodes: list[Node] = []
    for part in statements_of(stmt):
        if not _is_fence(part):
            nodes.append(_node(part, top=top, fences=fences))
        elif fences:
            nodes.append(Leaf(part))
    return nodes


def _is_fence(stmt: Any) -> bool:
    """Whether a statement is only a fence between proxies, alone or under an id or a condition.

    Schedules bring their own (:mod:`warpwright.lowering.materialize.fences`), so those of the source are left out of the tree.
    """
    if isinstance(stmt, tirx.AttrStmt) and str(stmt.attr_key) == OP_ID:
        return _is_fence(stmt.body)
    if isinstance(stmt, tirx.IfThenElse) and stmt.else_case is None:
        return _is_fence(stmt.then_case)
    parts = statements_of(stmt)
    names = [str(getattr(part.value.op, "name", "")) if _is_call(part) else "" for part in parts]
    return FENCE in names and all(name in (FENCE, "tirx.address_of") for name in names)


def _is_call(stmt: Any) -> bool:
    return isinstance(stmt, tirx.Evaluate) and isinstance(stmt.value, tirx.Call)


def _node(stmt: Any, *, top: bool, fences: bool) -> Node:
    if isinstance(stmt, tirx.AttrStmt):
        return _attribute(stmt, top=top, fences=fences)
    if isinstance(stmt, tirx.IfThenElse):
        if stmt.else_case is not None:
            raise NotApplicable("an if with an else branch", code="else-branch", place=_line(stmt.condition))
        return Guard(stmt, _nodes(stmt.then_case, top=False, fences=fences))
    if isinstance(stmt, tirx.While):
        return Loop(stmt, _nodes(stmt.body, top=False, fences=fences))
    if isinstance(stmt, tirx.For) and _is_scope(stmt):
        return Loop(stmt, _nodes(stmt.body, top=False, fences=fences))
    _check_leaf(stmt)
    return Leaf(stmt)


def _attribute(stmt: Any, *, top: bool, fences: bool) -> Node:
    key = str(stmt.attr_key)
    if key == OP_ID:
        inner = stmt.body
        if isinstance(inner, tirx.While):
            return Loop(inner, _nodes(inner.body, top=False, fences=fences), wrapper=stmt)
        _check_leaf(inner)
        return Leaf(inner, wrapper=stmt)
    if key == "warp_specialize":
        raise NotApplicable("T.ws already assigns warps by hand", code="already-specialised", place=ROOT)
    if key == PIPELINE_DEPTH:
        return Metadata(stmt, _nodes(stmt.body, top=top, fences=fences))
    if not top or key not in ("threadblock_swizzle_pattern", "tl.min_blocks_per_sm"):
        raise NotApplicable(
            f"the attribute {key!r} must be at the top of the kernel", code="attribute-place", place=key
        )
    return Metadata(stmt, _nodes(stmt.body, top=True, fences=fences))


def _is_scope(loop: Any) -> bool:
    """A sequential loop over tile operators, parallel loops or further scopes; a loop of scalar code is one operation.

    TileLang 0.1.15, materialize_ws_schedule.cc:854-876: scopes are serial or unrolled loops with unit step.
    """
    kinds = tirx.stmt.ForKind
    if loop.kind not in (kinds.SERIAL, kinds.UNROLLED):
        return False
    holds = False

    def visit(node: Any) -> None:
        nonlocal holds
        if isinstance(node, tirx.For) and node.kind == kinds.PARALLEL:
            holds = True
        if isinstance(node, tirx.Call) and str(getattr(node.op, "name", "")) in TILE_OPERATORS:
            holds = True

    tirx.stmt_functor.post_order_visit(loop.body, visit)
    if holds and loop.step is not None and _constant(loop.step) != 1:
        raise NotApplicable("a loop with a step other than one", code="loop-step", place=str(loop.loop_var.name))
    return holds


def _check_leaf(stmt: Any) -> None:
    place = _line(stmt)
    if isinstance(stmt, tirx.SBlockRealize):
        raise NotApplicable("a nested block", code="nested-block", place=place)
    if isinstance(stmt, tirx.AssertStmt):
        raise NotApplicable("an assertion inside the kernel", code="assertion", place=place)
    if isinstance(stmt, tirx.For) and stmt.kind == tirx.stmt.ForKind.THREAD_BINDING:
        raise NotApplicable("a loop bound to threads", code="thread-bound-loop", place=place)
    names = operators_in(stmt)
    for name in names:
        code = operator_verdict(name)
        if code:
            raise NotApplicable(f"operator {name!r} cannot be part of a warp schedule", code=code, place=place)
    direct = isinstance(stmt, tirx.Evaluate) and isinstance(stmt.value, tirx.Call)
    nested = [name for name in names if name in TILE_OPERATORS]
    if nested and not (direct and str(stmt.value.op.name) in TILE_OPERATORS):
        raise NotApplicable(f"{nested[0]!r} inside a compound statement", code="nested-tile-operator", place=place)


def _check_thread_index(kernel: WalkedKernel) -> None:
    """Roles renumber threads, so a body that reads the thread index would mean something else under a schedule."""
    found: list[str] = []

    def visit(node: Any) -> None:
        # An exception that passes through TVM would lose its type and its code.
        if isinstance(node, tirx.Var) and any(node.same_as(var) for var in kernel.thread_vars):
            found.append(str(node.name))

    tirx.stmt_functor.post_order_visit(kernel.block.body, visit)
    if found:
        message = f"the kernel reads the thread index {found[0]!r} itself"
        raise NotApplicable(message, code="thread-index-used", place=found[0])


def _name(kernel: WalkedKernel) -> None:
    namer = Namer(kernel.body)
    for node in _named(kernel.body):
        node.id = namer.name(node)


def _named(nodes: list[Node]) -> Iterator[Leaf | Loop]:
    for node in nodes:
        if isinstance(node, (Leaf, Loop)):
            yield node
        if not isinstance(node, Leaf):
            yield from _named(node.body)


def _line(node: Any) -> str:
    return str(node).strip().splitlines()[-1].strip()[:160]
