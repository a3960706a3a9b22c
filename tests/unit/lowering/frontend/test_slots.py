"""Every reference field is checked for what stands in it: TVM casts without a look (found by ``benchmarks.fuzz_ir``)."""

import json
from pathlib import Path
from typing import Any

import pytest

from warpwright.lowering.frontend.nodes import FIELDS
from warpwright.lowering.frontend.precheck import precheck
from warpwright.lowering.frontend.slots import slot_of
from warpwright.solver.domain import DocumentError

GOLDEN = Path(__file__).parents[3] / "golden" / "ir" / "one_trip.json"
Graph = dict[str, Any]

UNCHECKED = {("tirx.Call", "op"), ("tirx.AttrStmt", "node"), ("tl.WSPipeline", "buffers")}
"""The first has a check of its own, the others take any object."""


def document() -> Graph:
    graph: Graph = json.loads(GOLDEN.read_text())
    return graph


def first(graph: Graph, kind: str) -> int:
    return next(index for index, node in enumerate(graph["nodes"]) if node["type"] == kind)


def test_every_reference_field_has_a_kind() -> None:
    references = {(name, field) for name, fields in FIELDS.items() for field, kind in fields.items() if kind == "ref"}
    assert {pair for pair in references if slot_of(*pair) is None} == UNCHECKED


@pytest.mark.parametrize(
    ("kind", "field", "wrong"),
    [
        # Each ended a child by SIGSEGV before it was refused.
        ("tirx.Mul", "b", "tirx.Evaluate"),
        ("tirx.Mul", "b", "ir.Span"),
        ("tirx.Evaluate", "value", "ir.Span"),
        ("tirx.Evaluate", "value", "ffi.Map"),
        ("tirx.BufferLoad", "buffer", "tirx.Var"),
        ("tirx.For", "extent", "None"),
        ("tirx.For", "body", "tirx.Mul"),
        ("tirx.Buffer", "shape", "ir.IntImm"),
        ("tirx.Var", "name", "ir.IntImm"),
    ],
)
def test_a_node_of_another_kind_is_refused(kind: str, field: str, wrong: str) -> None:
    graph = document()
    # A fresh copy at the end refers to the wrong node, so that nothing but the kind is wrong: no cycle can arise.
    graph["nodes"][first(graph, kind)]["data"][field] = len(graph["nodes"])
    graph["nodes"].append(_alone(wrong))
    with pytest.raises(DocumentError) as caught:
        precheck(json.dumps(graph))
    assert caught.value.code == "ir-bad-field"
    assert (caught.value.place or "").endswith(f"/data/{field}")


def test_the_members_of_a_list_are_checked_too() -> None:
    graph = document()
    sequence = graph["nodes"][first(graph, "tirx.SeqStmt")]["data"]["seq"]
    graph["nodes"][sequence]["data"][0] = len(graph["nodes"])
    graph["nodes"].append({"type": "None"})
    with pytest.raises(DocumentError, match=r"SeqStmt\.seq is not a list of statements"):
        precheck(json.dumps(graph))


def _alone(kind: str) -> dict[str, Any]:
    """A node that refers to the first ones only, where it must refer at all."""
    if kind not in FIELDS:
        return {"type": kind} if kind == "None" else {"type": kind, "data": []}
    plain = {"ref": 0, "int": 0, "float": 0.0, "bool": False, "dtype": "int32"}
    return {"type": kind, "data": {field: plain[what] for field, what in FIELDS[kind].items()}}
