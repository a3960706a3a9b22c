"""Stable statement ids: those in the source are kept, the others follow from what a statement does and writes.

Deterministic: ``copy_As``, ``gemm_acc``, ``fill_acc``, ``k`` for the loop over ``k``; a second one of the same name gets
``_2``. Runs in child processes only: it reads TVM objects.
"""

import re
from typing import Any

from tilelang import tvm

from warpwright.lowering.frontend.statements import Leaf, Loop, Node
from warpwright.solver.domain import ROOT, NotApplicable

__all__ = ["Namer", "region_buffer"]

tirx = tvm.tirx
OP_ID = "tl.ws_op_id"


class Namer:
    """Assigns ids; knows those that the source already uses."""

    def __init__(self, body: list[Node]) -> None:
        self._taken = {ROOT}
        for existing in _existing_ids(body):
            if existing in self._taken:
                raise NotApplicable(f"two statements have the id {existing!r}", code="duplicate-id", place=existing)
            self._taken.add(existing)

    def name(self, node: Leaf | Loop) -> str:
        """The id of the next node in source order."""
        existing = existing_id(node)
        if existing:
            return existing
        is_scope = hasattr(node, "body")
        base = re.sub(r"\W", "_", _scope_suggestion(node.stmt) if is_scope else _suggestion(node.stmt)) or "op"
        candidate, count = base, 1
        while candidate in self._taken:
            count += 1
            candidate = f"{base}_{count}"
        self._taken.add(candidate)
        return candidate


def existing_id(node: Node) -> str:
    """The id of a statement in the source, empty if there is none."""
    wrapper = getattr(node, "wrapper", None)
    if wrapper is not None:
        return _text(wrapper.value)
    stmt = node.stmt
    if isinstance(stmt, tirx.For):
        return _text(stmt.annotations.get(OP_ID))
    if isinstance(stmt, tirx.Evaluate) and isinstance(stmt.value, tirx.Call) and stmt.value.annotations is not None:
        return _text(stmt.value.annotations.get(OP_ID))
    return ""


def region_buffer(argument: Any) -> Any:
    """The buffer of a tile operator's argument: a ``tl.region`` call or a plain load; None for anything else."""
    if isinstance(argument, tirx.Call) and str(getattr(argument.op, "name", "")) == "tl.region":
        argument = argument.args[0]
    return argument.buffer if isinstance(argument, tirx.BufferLoad) else None


def _existing_ids(nodes: list[Node]) -> list[str]:
    found: list[str] = []
    for node in nodes:
        existing = existing_id(node)
        found += [existing] if existing else []
        found += _existing_ids(getattr(node, "body", []))
    return found


def _text(value: Any) -> str:
    if value is None:
        return ""
    return str(value.value) if isinstance(value, tirx.StringImm) else str(value)


def _scope_suggestion(stmt: Any) -> str:
    return str(stmt.loop_var.name) if isinstance(stmt, tirx.For) else "loop"


def _suggestion(stmt: Any) -> str:
    if isinstance(stmt, tirx.Bind):
        return f"bind_{stmt.var.name}"
    if isinstance(stmt, tirx.BufferStore):
        return f"set_{_buffer_name(stmt.buffer)}"
    if isinstance(stmt, tirx.For):
        return f"compute_{_first_written(stmt)}"
    if isinstance(stmt, tirx.Evaluate) and isinstance(stmt.value, tirx.Call):
        return _call_suggestion(stmt.value)
    return "op"


def _buffer_name(buffer: Any) -> str:
    return str(buffer.name) or "buffer"


def _call_suggestion(call: Any) -> str:
    operator = str(getattr(call.op, "name", call.op)).rsplit(".", 1)[-1]
    if operator in ("copy", "async_copy", "tma_copy", "transpose"):
        target, source = region_buffer(call.args[1]), region_buffer(call.args[0])
        if target is not None and source is not None and target.scope() == "global":
            return f"store_{_buffer_name(target)}"
        return f"copy_{_buffer_name(target)}" if target is not None else operator
    if operator.endswith("gemm"):
        target = region_buffer(call.args[2])
    else:
        # Reductions and scans write their second argument, a fill its first.
        target = region_buffer(call.args[0 if operator == "fill" else 1]) if len(call.args) > 1 else None
    return f"{operator}_{_buffer_name(target)}" if target is not None else operator


def _first_written(stmt: Any) -> str:
    names: list[str] = []

    def visit(node: Any) -> None:
        if isinstance(node, tirx.BufferStore):
            names.append(_buffer_name(node.buffer))

    tirx.stmt_functor.post_order_visit(stmt, visit)
    return names[0] if names else "loop"
