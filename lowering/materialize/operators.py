"""Tile operators as TileLang Python text. Runs in child processes only: it reads TVM objects."""

from typing import Any

from tilelang import tvm

from warpwright.lowering.materialize.expressions import ExpressionWriter
from warpwright.lowering.materialize.names import Names
from warpwright.solver.domain import NotApplicable

__all__ = ["operator_text"]

tirx = tvm.tirx

_COPIES = {"copy": "T.copy", "async_copy": "T.async_copy", "tma_copy": "T.tma_copy", "transpose": "T.transpose"}
_NAMED_REDUCTIONS = ("sum", "max", "min")
_POLICIES = {0: "Square", 1: "FullRow", 2: "FullCol"}


def operator_text(call: Any, expressions: ExpressionWriter, names: Names, op_id: str) -> str:
    """The call with its id, or empty text if the operator accepts no annotations and needs a ``T.ws_op`` around it.

    Without an id the call is as its author may have written it.
    """
    name = str(call.op.name)
    if not name.startswith("tl.tileop."):
        return ""
    short = name.rsplit(".", 1)[1]
    arguments = list(call.args)

    def region(position: int) -> str:
        return _region(arguments[position], expressions, names)

    if short in _COPIES:
        parts = [region(0), region(1)]
        function = _COPIES[short]
    elif short == "fill":
        parts, function = [region(0), expressions.text(arguments[1])], "T.fill"
    elif short in ("gemm", "wgmma_gemm", "tcgen05_gemm"):
        parts, function = _gemm(arguments, region, expressions), f"T.{short}"
    elif short == "reduce":
        kind, dim, clear = str(arguments[2].value), int(arguments[3].value), bool(int(arguments[4].value))
        if kind in _NAMED_REDUCTIONS:
            parts, function = [region(0), region(1), f"dim={dim}", f"clear={clear}"], f"T.reduce_{kind}"
        else:
            parts, function = [region(0), region(1), repr(kind), str(dim), str(clear)], "T.reduce"
    elif short in ("cumsum", "cummax"):
        parts = [region(0), region(1), f"dim={int(arguments[2].value)}", f"reverse={bool(int(arguments[3].value))}"]
        function = f"T.{short}"
    else:
        raise NotApplicable(f"{name} cannot be written in TileLang", code="source-not-writable", place=op_id)
    annotations = _annotations(call, op_id)
    return f"{function}({', '.join([*parts, annotations] if annotations else parts)})"


def _gemm(arguments: list[Any], region: Any, expressions: ExpressionWriter) -> list[str]:
    parts = [region(0), region(1), region(2)]
    for position, keyword in ((3, "transpose_A"), (4, "transpose_B")):
        if int(arguments[position].value):
            parts.append(f"{keyword}=True")
    policy = int(arguments[8].value)
    if policy:
        parts.append(f"policy=T.GemmWarpPolicy.{_POLICIES[policy]}")
    clears = arguments[9]
    if not isinstance(clears, tirx.IntImm):
        parts.append(f"clear_accum={expressions.text(clears)}")
    elif int(clears.value):
        parts.append("clear_accum=True")
    return parts


def _region(argument: Any, expressions: ExpressionWriter, names: Names) -> str:
    """``A[lo : lo + extent, i]``, or the plain name for a whole buffer."""
    if not isinstance(argument, tirx.Call):
        return expressions.element(argument)
    load, extents = argument.args[0], list(argument.args[2:])
    analyzer = tvm.arith.Analyzer()
    whole = all(
        analyzer.can_prove_equal(low, 0) and analyzer.can_prove_equal(extent, size)
        for low, extent, size in zip(load.indices, extents, load.buffer.shape, strict=True)
    )
    if whole:
        return names.of(load.buffer)
    parts = []
    for low, extent in zip(load.indices, extents, strict=True):
        start = expressions.factor(low, 60)
        single = isinstance(extent, tirx.IntImm) and int(extent.value) == 1
        if single and len(extents) > 1:
            parts.append(expressions.text(low))
        elif isinstance(low, tirx.IntImm) and isinstance(extent, tirx.IntImm):
            parts.append(f"{int(low.value)} : {int(low.value) + int(extent.value)}")
        else:
            parts.append(f"{start} : {start} + {expressions.factor(extent, 61)}")
    return f"{names.of(load.buffer)}[{', '.join(parts)}]"


def _annotations(call: Any, op_id: str) -> str:
    parts = [f'T.WSID: "{op_id}"'] if op_id else []
    for key, value in (call.annotations or {}).items():
        if str(key) == "tl.ws_op_id":
            continue
        if isinstance(value, tirx.IntImm):
            plain: Any = bool(int(value.value)) if str(value.dtype) == "bool" else int(value.value)
        elif isinstance(value, tirx.StringImm):
            plain = str(value.value)
        elif isinstance(value, str):
            plain = str(value)
        else:
            raise NotApplicable(f"the annotation {key!r}", code="source-not-writable", place=op_id)
        parts.append(f'"{key}": {plain!r}')
    return f"annotations={{{', '.join(parts)}}}" if parts else ""
