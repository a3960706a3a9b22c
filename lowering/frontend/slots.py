"""What a reference field of a node may refer to: TVM's reader does not check it.

It puts any node into a field of a C++ type and casts later without a check, so a span in place of an expression
ends the process (found by ``benchmarks/fuzz_ir.py``). The kinds are those of the C++ classes' members, TileLang 0.1.15.
"""

from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from warpwright.lowering.frontend.nodes import FIELDS

__all__ = ["Slot", "slot_of", "wrong_slot"]


@dataclass(frozen=True, slots=True)
class Slot:
    """Accepted node types; ``many``: an ``ffi.Array`` of them."""

    what: str
    types: frozenset[str]
    many: bool = False
    optional: bool = False


def _named(*ends: str) -> frozenset[str]:
    return frozenset(name for name in FIELDS if name.endswith(ends))


_STATEMENTS = frozenset(
    f"tirx.{name}"
    for name in ("Bind", "AttrStmt", "BufferStore", "SeqStmt", "IfThenElse", "Evaluate", "For", "While", "SBlock")
) | {"tirx.SBlockRealize", "tirx.DeclBuffer", "tirx.AllocBuffer", "tirx.AssertStmt"}
_EXPRESSIONS = frozenset(
    name
    for name, fields in FIELDS.items()
    if {"span", "dtype"} <= fields.keys() and name.startswith(("tirx.", "ir.")) and name not in ("tirx.Buffer",)
) - {"ir.PrimType"}
_VARIABLES = frozenset({"tirx.Var", "tirx.SizeVar"})
_TYPES = _named("Type")
_STRUCT_INFO = _named("StructInfo")
_STRING = frozenset({"ffi.String"})
_MAP = Slot("map", frozenset({"ffi.Map"}))

_EXPRESSION = Slot("expression", _EXPRESSIONS)
_STATEMENT = Slot("statement", _STATEMENTS)
_MAYBE_EXPRESSION = Slot("expression", _EXPRESSIONS, optional=True)
_MAYBE_STATEMENT = Slot("statement", _STATEMENTS, optional=True)
_LIST = Slot("list of expressions", _EXPRESSIONS, many=True)
_VARIABLE = Slot("variable", _VARIABLES)
_TEXT = Slot("string", _STRING)
_BUFFER = Slot("buffer", frozenset({"tirx.Buffer"}))
_REGIONS = Slot("list of regions", frozenset({"tirx.BufferRegion"}), many=True)
_MAYBE_RANGE = Slot("range", frozenset({"ir.Range"}), optional=True)
_NOTHING = Slot("null", frozenset(), optional=True)

_BY_FIELD: dict[str, Slot] = {
    **dict.fromkeys(("a", "b", "condition", "true_value", "false_value", "min", "extent", "base"), _EXPRESSION),
    **dict.fromkeys(("stride", "lanes", "elem_offset", "value", "forward_thread", "combine_size"), _EXPRESSION),
    **dict.fromkeys(("replicate_size",), _EXPRESSION),
    **dict.fromkeys(("predicate", "step"), _MAYBE_EXPRESSION),
    **dict.fromkeys(("indices", "args", "shape", "strides", "iter_values", "vectors"), _LIST),
    **dict.fromkeys(("input_size", "forward_index", "values"), _LIST),
    **dict.fromkeys(("body", "then_case"), _STATEMENT),
    **dict.fromkeys(("else_case", "init"), _MAYBE_STATEMENT),
    **dict.fromkeys(("var", "loop_var", "data"), _VARIABLE),
    **dict.fromkeys(("name", "name_hint", "attr_key", "thread_tag", "storage_scope", "_name", "id", "pipeline"), _TEXT),
    **dict.fromkeys(("__dict__", "annotations", "buffer_map", "bodies"), _MAP),
    **dict.fromkeys(("reads", "writes"), _REGIONS),
    **dict.fromkeys(("dom", "thread_range"), _MAYBE_RANGE),
    **dict.fromkeys(("derive_func", "vdevice"), _NOTHING),
    "span": Slot("span", frozenset({"ir.Span", "ir.SequentialSpan"}), optional=True),
    "spans": Slot("list of spans", frozenset({"ir.Span", "ir.SequentialSpan"}), many=True),
    "source_name": Slot("source name", frozenset({"ir.SourceName"})),
    "seq": Slot("list of statements", _STATEMENTS, many=True),
    "buffer": _BUFFER,
    "source": Slot("region", frozenset({"tirx.BufferRegion"})),
    "alloc_buffers": Slot("list of buffers", _BUFFER.types, many=True),
    "match_buffers": Slot("list of matched regions", frozenset({"tirx.MatchBufferRegion"}), many=True),
    "region": Slot("list of ranges", frozenset({"ir.Range"}), many=True),
    "iter_vars": Slot("list of iteration variables", frozenset({"tirx.IterVar"}), many=True),
    "thread_binding": Slot("iteration variable", frozenset({"tirx.IterVar"}), optional=True),
    "block": Slot("block", frozenset({"tirx.SBlock"})),
    "axis_separators": Slot("list of integers", frozenset({"ir.IntImm"}), many=True),
    "attrs": Slot("attributes", frozenset({"ir.DictAttrs"}), optional=True),
    "params": Slot("list of variables", _VARIABLES, many=True),
    "type_annotation": Slot("type", _TYPES, optional=True),
    "element_type": Slot("type", _TYPES),
    "ret_type": Slot("type", _TYPES, optional=True),
    "fields": Slot("list of types", _TYPES | _STRUCT_INFO, many=True),
    "struct_info_": Slot("struct info", _STRUCT_INFO, optional=True),
    "ret": Slot("struct info", _STRUCT_INFO),
    "error_kind": Slot("string", frozenset({"tirx.StringImm"})),
    "message_parts": Slot("list of strings", frozenset({"tirx.StringImm"}), many=True),
    "roles": Slot("list of roles", frozenset({"tl.WSRole"}), many=True),
    "pipelines": Slot("list of pipelines", frozenset({"tl.WSPipeline"}), many=True),
    "scopes": Slot("list of scopes", frozenset({"tl.WSScope"}), many=True),
    "kind": Slot("kind of synchronisation", frozenset({"tl.WSSyncKind"})),
}

_EXCEPTIONS: dict[tuple[str, str], Slot] = {
    ("tirx.Let", "body"): _EXPRESSION,
    ("tirx.StringImm", "value"): _TEXT,
    ("relax.PrimStructInfo", "value"): _MAYBE_EXPRESSION,
    ("relax.ShapeStructInfo", "values"): Slot("list of expressions", _EXPRESSIONS, many=True, optional=True),
    ("relax.TensorStructInfo", "shape"): Slot("shape", frozenset({"relax.expr.ShapeExpr"}), optional=True),
    ("relax.FuncStructInfo", "params"): Slot("list of struct infos", _STRUCT_INFO, many=True, optional=True),
}

_SLOTS = MappingProxyType(
    {
        (name, field): _EXCEPTIONS.get((name, field), _BY_FIELD.get(field))
        for name, fields in FIELDS.items()
        for field, kind in fields.items()
        if kind == "ref"
    }
)


def slot_of(name: str, field: str) -> Slot | None:
    """What a reference field accepts; None if any node is accepted (``AttrStmt.node``) or another check decides."""
    return _SLOTS.get((name, field))


def wrong_slot(node: dict[str, Any], nodes: list[dict[str, Any]]) -> tuple[str, Slot] | None:
    """The first field of a node that refers to something wrong, and what it should refer to."""
    for field, kind in FIELDS[node["type"]].items():
        slot = _SLOTS.get((node["type"], field)) if kind == "ref" else None
        if slot is not None and not _fits(slot, nodes[node["data"][field]], nodes):
            return field, slot
    return None


def _fits(slot: Slot, target: dict[str, Any], nodes: list[dict[str, Any]]) -> bool:
    if target["type"] == "None":
        return slot.optional
    if not slot.many:
        return target["type"] in slot.types
    return target["type"] == "ffi.Array" and all(nodes[item]["type"] in slot.types for item in target["data"] or ())
