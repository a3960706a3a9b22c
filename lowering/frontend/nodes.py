"""Node types that an IR document may contain, with the fields of each: the allow list that :mod:`.precheck` enforces.

The list has the types of a plain TileLang 0.1.15 kernel, read from the type registry of its TVM. A type that is not here
(an ``IRModule``, a ``GlobalVar``, a runtime module, a target) never reaches the C++ reader.
"""

from types import MappingProxyType

__all__ = ["FIELDS", "IGNORED_FIELDS", "LEAVES", "Kind"]

Kind = str
"""How a field appears in the JSON: ``ref`` is an index of another node, the others are plain values."""

_EXPRESSION = {"span": "ref", "dtype": "dtype"}
_STATEMENT = {"span": "ref"}
_BINARY = {**_EXPRESSION, "a": "ref", "b": "ref"}
_LAYOUT = {"input_size": "ref", "forward_index": "ref"}
_FRAGMENT = {**_LAYOUT, "forward_thread": "ref", "replicate_size": "ref", "thread_range": "ref"}
_SPAN = {"source_name": "ref", "line": "int", "column": "int", "end_line": "int", "end_column": "int"}

_BINARY_TYPES = [
    "Add",
    "Sub",
    "Mul",
    "Div",
    "Mod",
    "FloorDiv",
    "FloorMod",
    "Min",
    "Max",
    "EQ",
    "NE",
    "LT",
    "LE",
    "GT",
    "GE",
    "And",
    "Or",
]

_TYPES: dict[str, dict[str, Kind]] = {
    "ir.IntImm": {**_EXPRESSION, "value": "int"},
    "ir.FloatImm": {**_EXPRESSION, "value": "float"},
    "ir.PrimType": {"span": "ref", "dtype": "dtype"},
    "ir.PointerType": {"span": "ref", "element_type": "ref", "storage_scope": "ref"},
    "ir.TupleType": {"span": "ref", "fields": "ref"},
    "ir.Range": {"min": "ref", "extent": "ref", "span": "ref"},
    "ir.DictAttrs": {"__dict__": "ref"},
    "ir.Span": _SPAN,
    "ir.SequentialSpan": {**_SPAN, "spans": "ref"},
    "relax.ShapeStructInfo": {"span": "ref", "values": "ref", "ndim": "int"},
    "relax.expr.ShapeExpr": {"span": "ref", "struct_info_": "ref", "values": "ref"},
    "relax.TensorStructInfo": {"span": "ref", "shape": "ref", "dtype": "dtype", "vdevice": "ref", "ndim": "int"},
    "relax.TupleStructInfo": {"span": "ref", "fields": "ref"},
    "relax.FuncStructInfo": {"span": "ref", "params": "ref", "ret": "ref", "derive_func": "ref", "purity": "bool"},
    "relax.PrimStructInfo": {"span": "ref", "value": "ref", "dtype": "dtype"},
    "relax.ObjectStructInfo": {"span": "ref"},
    "tirx.Var": {**_EXPRESSION, "name": "ref", "type_annotation": "ref"},
    "tirx.SizeVar": {**_EXPRESSION, "name": "ref", "type_annotation": "ref"},
    "tirx.StringImm": {**_EXPRESSION, "value": "ref"},
    "tirx.Cast": {**_EXPRESSION, "value": "ref", "annotations": "ref"},
    **{f"tirx.{name}": _BINARY for name in _BINARY_TYPES},
    "tirx.Not": {**_EXPRESSION, "a": "ref"},
    "tirx.Select": {**_EXPRESSION, "condition": "ref", "true_value": "ref", "false_value": "ref"},
    "tirx.BufferLoad": {**_EXPRESSION, "buffer": "ref", "indices": "ref", "predicate": "ref"},
    "tirx.Ramp": {**_EXPRESSION, "base": "ref", "stride": "ref", "lanes": "ref"},
    "tirx.Broadcast": {**_EXPRESSION, "value": "ref", "lanes": "ref"},
    "tirx.Let": {**_EXPRESSION, "var": "ref", "value": "ref", "body": "ref"},
    "tirx.Call": {**_EXPRESSION, "op": "ref", "args": "ref", "annotations": "ref"},
    "tirx.Shuffle": {**_EXPRESSION, "vectors": "ref", "indices": "ref"},
    "tirx.Buffer": {
        "data": "ref",
        "dtype": "dtype",
        "shape": "ref",
        "strides": "ref",
        "axis_separators": "ref",
        "elem_offset": "ref",
        "name": "ref",
        "data_alignment": "int",
        "offset_factor": "int",
        "buffer_type": "int",
        "span": "ref",
    },
    "tirx.BufferRegion": {"buffer": "ref", "region": "ref"},
    "tirx.IterVar": {"dom": "ref", "var": "ref", "iter_type": "int", "thread_tag": "ref"},
    "tirx.MatchBufferRegion": {"buffer": "ref", "source": "ref"},
    "tirx.Bind": {**_STATEMENT, "var": "ref", "value": "ref"},
    "tirx.AttrStmt": {**_STATEMENT, "node": "ref", "attr_key": "ref", "value": "ref", "body": "ref"},
    "tirx.BufferStore": {**_STATEMENT, "buffer": "ref", "value": "ref", "indices": "ref", "predicate": "ref"},
    "tirx.SeqStmt": {**_STATEMENT, "seq": "ref"},
    "tirx.IfThenElse": {**_STATEMENT, "condition": "ref", "then_case": "ref", "else_case": "ref"},
    "tirx.Evaluate": {**_STATEMENT, "value": "ref"},
    "tirx.For": {
        **_STATEMENT,
        "loop_var": "ref",
        "min": "ref",
        "extent": "ref",
        "kind": "int",
        "body": "ref",
        "thread_binding": "ref",
        "annotations": "ref",
        "step": "ref",
    },
    "tirx.While": {**_STATEMENT, "condition": "ref", "body": "ref"},
    "tirx.SBlock": {
        **_STATEMENT,
        "iter_vars": "ref",
        "reads": "ref",
        "writes": "ref",
        "name_hint": "ref",
        "alloc_buffers": "ref",
        "match_buffers": "ref",
        "annotations": "ref",
        "init": "ref",
        "body": "ref",
    },
    "tirx.SBlockRealize": {**_STATEMENT, "iter_values": "ref", "predicate": "ref", "block": "ref"},
    "tirx.DeclBuffer": {**_STATEMENT, "buffer": "ref"},
    "tirx.AllocBuffer": {**_STATEMENT, "buffer": "ref", "annotations": "ref"},
    "tirx.AssertStmt": {**_STATEMENT, "condition": "ref", "error_kind": "ref", "message_parts": "ref"},
    "tirx.PrimFunc": {
        "span": "ref",
        "struct_info_": "ref",
        "attrs": "ref",
        "params": "ref",
        "ret_type": "ref",
        "buffer_map": "ref",
        "body": "ref",
    },
    "tl.Layout": _LAYOUT,
    "tl.Fragment": _FRAGMENT,
    "tl.PartialFragment": {**_FRAGMENT, "combine_size": "ref"},
    "tl.AscendFractalLayout": {"input_size": "ref", "forward_index": "ref", "kind": "int"},
    "tl.WSSchedule": {"num_warps": "int", "roles": "ref", "pipelines": "ref", "scopes": "ref"},
    "tl.WSRole": {"name": "ref", "warp_lo": "int", "warp_hi": "int", "max_nreg": "int"},
    "tl.WSPipeline": {"name": "ref", "buffers": "ref", "depth": "int"},
    "tl.WSScope": {"id": "ref", "bodies": "ref"},
    "tl.WSOpRef": {"id": "ref"},
    "tl.WSSyncKind": {"_value": "int", "_name": "ref"},
    "tl.WSSync": {"kind": "ref", "pipeline": "ref", "stage": "int"},
}

FIELDS: MappingProxyType[str, dict[str, Kind]] = MappingProxyType(_TYPES)
"""Allowed object types with their fields."""

LEAVES = frozenset({"None", "bool", "int", "float", "ffi.String", "ffi.Array", "ffi.Map", "ir.Op", "ir.SourceName"})
"""Allowed types whose ``data`` is not an object of fields: scalars, names, and lists of node indices."""

IGNORED_FIELDS = frozenset({"span", "struct_info_", "name", "name_hint"})
"""Fields that say where a node came from or what it is called: they are not part of a kernel's identity."""
