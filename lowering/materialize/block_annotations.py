"""Annotations of the kernel's block as TileLang Python text. Runs in child processes only: it reads TVM objects."""

from collections.abc import Callable
from typing import Any

from tilelang import tvm
from tilelang.layout import Fragment, Layout

from warpwright.lowering.materialize.expressions import ExpressionWriter
from warpwright.lowering.materialize.names import Names
from warpwright.solver.domain import NotApplicable

__all__ = ["annotation_lines"]

tirx = tvm.tirx

_WRITTEN_ELSEWHERE = ("tl.launch_threads", "tl.ws_schedule")


def annotation_lines(annotations: Any, names: Names, expressions: ExpressionWriter) -> list[str]:
    """Statements that give a block these annotations; NotApplicable ``source-not-writable`` for one that cannot be written."""
    lines = []
    for key, value in annotations.items():
        if str(key) in _WRITTEN_ELSEWHERE:
            continue
        if str(key) not in _WRITERS:
            raise NotApplicable(f"the block annotation {key!r}", code="source-not-writable", place=str(value)[:160])
        lines.append(_WRITERS[str(key)](value, names, expressions))
    return lines


def _layouts(value: Any, names: Names, expressions: ExpressionWriter) -> str:
    entries = [f"{names.of_data(data)}: {_layout(layout, names)}" for data, layout in value.items()]
    return f"T.annotate_layout({{{', '.join(entries)}}})"


def _layout(layout: Any, names: Names) -> str:
    if not isinstance(layout, Layout) or isinstance(layout, Fragment):
        raise NotApplicable("a fragment layout", code="source-not-writable", place=str(layout)[:160])
    # TileLang makes new placeholders of a layout at each call: they are equal by name, not by identity.
    letters = {str(index.name): f"i{position}" for position, index in enumerate(layout.get_forward_vars())}

    def name(thing: Any) -> str:
        return letters.get(str(thing.name)) or names.of(thing)

    writer = ExpressionWriter(name)
    forward = ", ".join(writer.text(part) for part in layout.index)
    shape = ", ".join(writer.text(part) for part in layout.get_input_shape())
    return f"T.Layout([{shape}], lambda {', '.join(letters.values())}: [{forward}])"


def _safe_values(value: Any, names: Names, expressions: ExpressionWriter) -> str:
    entries = [f"{names.of_data(data)}: {_number(number, expressions)}" for data, number in value.items()]
    return f"T.annotate_safe_value({{{', '.join(entries)}}})"


def _hit_ratios(value: Any, names: Names, expressions: ExpressionWriter) -> str:
    entries = [f"{names.of_data(data)}: {float(ratio.value)!r}" for data, ratio in value.items()]
    return f"T.annotate_l2_hit_ratio({{{', '.join(entries)}}})"


def _non_restrict(value: Any, names: Names, expressions: ExpressionWriter) -> str:
    return f"T.annotate_restrict_buffers({', '.join(names.of_data(data) for data in value)})"


def _number(value: Any, expressions: ExpressionWriter) -> str:
    return expressions.text(value) if isinstance(value, tvm.ir.PrimExpr) else repr(value)


_WRITERS: dict[str, Callable[[Any, Names, ExpressionWriter], str]] = {
    "layout_map": _layouts,
    "safe_value_map": _safe_values,
    "l2_hit_ratio_map": _hit_ratios,
    "tl.non_restrict_params": _non_restrict,
}
