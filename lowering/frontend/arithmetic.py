"""Counts the arithmetic of scalar code. Runs in child processes only: it reads TVM objects.

Per element: floating-point instructions (a product feeding a sum is one fused instruction), results of the special-function
unit, and bytes to and from shared and global memory. Index arithmetic is not counted; compilers hoist most of it.
"""

from typing import Any

from tilelang import tvm

from warpwright.lowering.frontend.operators import SFU_RESULTS
from warpwright.solver.device.work import SimtWork

__all__ = ["work_of"]

tirx = tvm.tirx

_FLOAT_OPERATORS = (tirx.Add, tirx.Sub, tirx.Mul, tirx.Max, tirx.Min, tirx.Cast, tirx.Select)
_COMPARISONS = (tirx.LT, tirx.LE, tirx.GT, tirx.GE, tirx.EQ, tirx.NE)
DIVISION_INSTRUCTIONS = 8
"""A correctly rounded fp32 division besides its reciprocal: scaling, two Newton steps, the residual; no slow path."""
EXPONENTIAL_INSTRUCTIONS = 2
"""Range scaling before and after the special-function result of ``exp2f`` and its kin."""


def work_of(stmt: Any) -> SimtWork:
    """Work of a statement with all its loops; a loop of symbolic extent counts once."""
    counts = {"alu": 0, "sfu": 0, "shared": 0, "read": 0, "written": 0}
    _visit(stmt, 1, counts)
    return SimtWork(counts["alu"], counts["sfu"], counts["shared"], counts["read"], counts["written"])


def _visit(stmt: Any, times: int, counts: dict[str, int]) -> None:
    if isinstance(stmt, tirx.SeqStmt):
        for part in stmt.seq:
            _visit(part, times, counts)
    elif isinstance(stmt, tirx.For):
        extent = int(stmt.extent.value) if isinstance(stmt.extent, tirx.IntImm) else 1
        _visit(stmt.body, times * extent, counts)
    elif isinstance(stmt, tirx.IfThenElse):
        _expression(stmt.condition, times, counts)
        _visit(stmt.then_case, times, counts)
        if stmt.else_case is not None:
            _visit(stmt.else_case, times, counts)
    elif isinstance(stmt, (tirx.AttrStmt, tirx.While)):
        _visit(stmt.body, times, counts)
    elif isinstance(stmt, tirx.BufferStore):
        _expression(stmt.value, times, counts)
        _moved(stmt.buffer, times, counts, "written")
    elif isinstance(stmt, (tirx.Bind, tirx.Evaluate)):
        _expression(stmt.value, times, counts)


def _expression(root: Any, times: int, counts: dict[str, int]) -> None:
    def visit(node: Any) -> None:
        if isinstance(node, tirx.BufferLoad):
            _moved(node.buffer, times, counts, "read")
        elif isinstance(node, (tirx.Add, tirx.Sub)) and _is_float(node):
            # Next to a product the sum is the second half of a fused instruction.
            counts["alu"] += 0 if isinstance(node.a, tirx.Mul) or isinstance(node.b, tirx.Mul) else times
        elif isinstance(node, tirx.Div) and _is_float(node):
            counts["alu"] += times * DIVISION_INSTRUCTIONS
            counts["sfu"] += times
        elif isinstance(node, tirx.Call):
            _call(node, times, counts)
        elif (isinstance(node, _FLOAT_OPERATORS) and _is_float(node)) or (
            isinstance(node, _COMPARISONS) and _is_float(node.a)
        ):
            counts["alu"] += times

    tirx.stmt_functor.post_order_visit(root, visit)


def _call(call: Any, times: int, counts: dict[str, int]) -> None:
    name = str(getattr(call.op, "name", ""))
    if name in SFU_RESULTS:
        counts["sfu"] += times * SFU_RESULTS[name]
        counts["alu"] += times * EXPONENTIAL_INSTRUCTIONS
    elif name in ("tirx.if_then_else", "tirx.fma", "tirx.fabs", "tl.fma") or name.startswith("tirx.bitwise"):
        counts["alu"] += times


def _moved(buffer: Any, times: int, counts: dict[str, int], way: str) -> None:
    scope = str(buffer.scope())
    key = way if scope == "global" else ("shared" if scope.startswith("shared") else "")
    if key:
        counts[key] += times * max(1, tvm.DataType(buffer.dtype).bits // 8)


def _is_float(node: Any) -> bool:
    return "float" in str(node.dtype)
