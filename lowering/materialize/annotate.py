"""Writes ids and a schedule into a kernel's IR. Runs in child processes only: it builds TVM objects.

The tree of :mod:`warpwright.lowering.frontend.statements` is folded back into statements, each with its ``tl.ws_op_id``: tile
operators and loops carry it in their annotations, everything else and ``while`` loops get a ``T.ws_op`` wrapper (TileLang 0.1.15,
language/annotations.py:167-193).
"""

from typing import Any

from tilelang import tvm

from warpwright.lowering.frontend.launch import is_kernel_block
from warpwright.lowering.frontend.operators import TILE_OPERATORS
from warpwright.lowering.frontend.statements import Guard, Leaf, Loop, Node
from warpwright.lowering.frontend.walk import OP_ID, WalkedKernel

__all__ = ["SCHEDULE_KEY", "with_schedule"]

tirx = tvm.tirx

SCHEDULE_KEY = "tl.ws_schedule"


def with_schedule(kernel: WalkedKernel, schedule: Any | None) -> Any:
    """The kernel's ``PrimFunc`` with ids on every statement and, if given, the schedule on the kernel's block."""
    block = kernel.block
    annotations = dict(block.annotations)
    if schedule is not None:
        annotations[SCHEDULE_KEY] = schedule
    new_block = tirx.SBlock(
        block.iter_vars,
        block.reads,
        block.writes,
        block.name_hint,
        _sequence(kernel.body),
        block.init,
        block.alloc_buffers,
        block.match_buffers,
        annotations,
    )

    def replace(node: Any) -> Any:
        return new_block if isinstance(node, tirx.SBlock) and is_kernel_block(node) else None

    # Only the block: the transformation must not descend into the new body again.
    body = tirx.stmt_functor.ir_transform(kernel.function.body, None, replace, ["tirx.SBlock"])
    return kernel.function.with_body(body)


def _sequence(nodes: list[Node]) -> Any:
    statements = [_statement(node) for node in nodes]
    return statements[0] if len(statements) == 1 else tirx.SeqStmt(statements)


def _statement(node: Node) -> Any:
    if isinstance(node, Leaf):
        return _leaf(node)
    if isinstance(node, Loop):
        return _loop(node)
    stmt = node.stmt
    if isinstance(node, Guard):
        return tirx.IfThenElse(stmt.condition, _sequence(node.body), None)
    return tirx.AttrStmt(stmt.node, stmt.attr_key, stmt.value, _sequence(node.body))


def _leaf(leaf: Leaf) -> Any:
    stmt = leaf.stmt
    if leaf.wrapper is not None:
        return leaf.wrapper
    if isinstance(stmt, tirx.For):
        return _annotated_loop(stmt, stmt.body, leaf.id)
    if (
        isinstance(stmt, tirx.Evaluate)
        and isinstance(stmt.value, tirx.Call)
        and str(stmt.value.op.name) in TILE_OPERATORS
    ):
        call = stmt.value
        annotations = {**(call.annotations or {}), OP_ID: tirx.StringImm(leaf.id)}
        return tirx.Evaluate(tirx.Call(call.dtype, call.op, list(call.args), annotations))
    return _wrapped(stmt, leaf.id)


def _loop(loop: Loop) -> Any:
    stmt, body = loop.stmt, _sequence(loop.body)
    if isinstance(stmt, tirx.While):
        return _wrapped(tirx.While(stmt.condition, body), loop.id)
    return _annotated_loop(stmt, body, loop.id)


def _annotated_loop(loop: Any, body: Any, op_id: str) -> Any:
    annotations = {**loop.annotations, OP_ID: op_id}
    parts = (loop.loop_var, loop.min, loop.extent, loop.kind, body)
    return tirx.For(*parts, loop.thread_binding, annotations, loop.step)


def _wrapped(stmt: Any, op_id: str) -> Any:
    return tirx.AttrStmt(None, OP_ID, tirx.StringImm(op_id), stmt)
