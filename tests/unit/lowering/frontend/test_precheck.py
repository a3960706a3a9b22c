"""What may be shown to TVM and what may not: every refusal has its code, nothing else ever comes out."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from warpwright.lowering.frontend.precheck import MAX_DEPTH, precheck
from warpwright.solver.domain import DocumentError, ForeignCode, WarpwrightError

GOLDEN = Path(__file__).parents[3] / "golden" / "ir" / "one_trip.json"
Graph = dict[str, Any]


@pytest.fixture
def graph() -> Graph:
    document: Graph = json.loads(GOLDEN.read_text())
    return document


def find(graph: Graph, kind: str, data: object = None) -> int:
    """Index of the first node of a type (and with this data)."""
    nodes = graph["nodes"]
    return next(i for i, n in enumerate(nodes) if n["type"] == kind and (data is None or n["data"] == data))


def add(graph: Graph, kind: str, data: object) -> int:
    graph["nodes"].append({"type": kind, "data": data})
    return len(graph["nodes"]) - 1


def code_of(graph: Graph, error: type[WarpwrightError]) -> str:
    with pytest.raises(error) as caught:
        precheck(json.dumps(graph))
    assert caught.value.place
    return caught.value.code


def test_a_kernel_passes_and_knows_its_symbol(graph: Graph) -> None:
    document = precheck(json.dumps(graph))
    assert document.symbol() == "main"
    assert document.order[-1] == document.root


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "ir-not-json"),
        ("{", "ir-not-json"),
        ("[" * 100_000, "ir-not-json"),
        ("[]", "ir-not-a-graph"),
        ('{"nodes": [], "root_index": 0}', "ir-not-a-graph"),
        ('{"nodes": [1], "root_index": 0}', "ir-not-a-graph"),
        ('{"nodes": [{"type": "None"}], "root_index": 1}', "ir-not-a-graph"),
        ('{"nodes": [{"type": "None"}], "root_index": true}', "ir-not-a-graph"),
        ('{"nodes": [{"type": "None"}], "root_index": 0}', "ir-not-a-primfunc"),
        ('{"nodes": [{"type": "ir.IRModule", "data": {}}], "root_index": 0}', "ir-unknown-node"),
        ('{"nodes": [{"type": "ffi.Array", "data": [0]}], "root_index": 0}', "ir-not-a-primfunc"),
        ('{"nodes": [{"type": "ffi.Map", "data": [0]}], "root_index": 0}', "ir-bad-field"),
    ],
)
def test_what_is_no_kernel_is_refused_with_its_code(text: str, code: str) -> None:
    with pytest.raises(DocumentError) as caught:
        precheck(text)
    assert caught.value.code == code


def test_a_document_over_the_limit_is_not_even_parsed() -> None:
    with pytest.raises(DocumentError) as caught:
        precheck("x" * 1001, limit_bytes=1000)
    assert caught.value.code == "ir-too-large"


def test_a_hundred_megabytes_are_refused_at_once() -> None:
    with pytest.raises(DocumentError, match="larger"):
        precheck("[" * (100 << 20))


@pytest.mark.parametrize("value", [-1, 10**9, True, "1", 1.0, None])
def test_a_reference_outside_the_document_is_refused(graph: Graph, value: object) -> None:
    graph["nodes"][find(graph, "tirx.SeqStmt")]["data"]["seq"] = value
    assert code_of(graph, DocumentError) == "ir-bad-field"


def test_a_missing_field_and_an_extra_one_are_refused(graph: Graph) -> None:
    node = graph["nodes"][find(graph, "tirx.For")]["data"]
    extent = node.pop("extent")
    assert code_of(graph, DocumentError) == "ir-bad-field"
    node["extent"], node["surprise"] = extent, 0
    assert code_of(graph, DocumentError) == "ir-bad-field"


def test_a_cycle_is_refused(graph: Graph) -> None:
    sequence = find(graph, "tirx.SeqStmt")
    graph["nodes"][graph["nodes"][sequence]["data"]["seq"]]["data"].append(sequence)
    assert code_of(graph, DocumentError) == "ir-cyclic"


def test_a_long_chain_is_refused_before_anything_recurses_into_it(graph: Graph) -> None:
    tail = find(graph, "ffi.Array", [])
    for _ in range(MAX_DEPTH + 1):
        tail = add(graph, "ffi.Array", [tail])
    graph["nodes"][find(graph, "tirx.SeqStmt")]["data"]["seq"] = tail
    assert code_of(graph, DocumentError) == "ir-too-deep"


def test_parts_that_unfold_without_end_are_refused(graph: Graph) -> None:
    tail = find(graph, "ffi.Array", [])
    for _ in range(60):
        tail = add(graph, "ffi.Array", [tail, tail])
    graph["nodes"][find(graph, "tirx.SeqStmt")]["data"]["seq"] = tail
    assert code_of(graph, DocumentError) == "ir-too-unfolded"


@pytest.mark.parametrize("name", ["x;system()", "a b", 'a"', "a\nb", "a" * 300, "1a", "a{}"])
def test_a_name_that_could_carry_source_text_is_refused(graph: Graph, name: str) -> None:
    text = add(graph, "ffi.String", name)
    graph["nodes"][find(graph, "tirx.Buffer")]["data"]["name"] = text
    assert code_of(graph, DocumentError) == "ir-bad-name"


@pytest.mark.parametrize("dtype", ["custom[1]32", "float32;", "int", "float32x", "a"])
def test_a_type_name_that_is_none_is_refused(graph: Graph, dtype: str) -> None:
    graph["nodes"][find(graph, "ir.IntImm")]["data"]["dtype"] = dtype
    assert code_of(graph, DocumentError) == "ir-bad-field"


@pytest.mark.parametrize(
    "operator",
    ["tirx.call_extern", "tirx.call_pure_extern", "tirx.tvm_call_packed", "tirx.call_llvm_intrin", "made.up", "x"],
)
def test_operators_outside_the_list_are_foreign_code(graph: Graph, operator: str) -> None:
    graph["nodes"][find(graph, "ir.Op", "tl.tileop.copy")]["data"] = operator
    assert code_of(graph, ForeignCode) == "foreign-call"


def test_a_call_of_a_function_is_foreign_code(graph: Graph) -> None:
    graph["nodes"][find(graph, "tirx.Call")]["data"]["op"] = find(graph, "ir.IntImm")
    assert code_of(graph, ForeignCode) == "foreign-call"


@pytest.mark.parametrize(
    ("key", "code"),
    [
        ("pragma_import_c", "foreign-source"),
        ("code_block_source", "foreign-source"),
        ("tl.device_compile_flags", "foreign-source"),
        ("something_new", "foreign-annotation"),
    ],
)
def test_annotations_that_bring_source_or_are_unknown_are_foreign_code(graph: Graph, key: str, code: str) -> None:
    block = next(n["data"] for n in reversed(graph["nodes"]) if n["type"] == "tirx.SBlock")
    value = add(graph, "ffi.String", "text")
    block["annotations"] = add(graph, "ffi.Map", [add(graph, "ffi.String", key), value])
    assert code_of(graph, ForeignCode) == code


def test_build_settings_of_the_function_are_names_and_plain_values(graph: Graph) -> None:
    attributes = graph["nodes"][graph["nodes"][find(graph, "ir.DictAttrs")]["data"]["__dict__"]]["data"]
    attributes.extend([add(graph, "ffi.String", "tilelang_compile_flags"), add(graph, "ffi.String", "x")])
    assert code_of(graph, ForeignCode) == "foreign-source"
    attributes[-1] = add(graph, "ffi.Array", [add(graph, "ffi.String", "include this")])
    assert code_of(graph, ForeignCode) == "foreign-source"
    attributes[-1] = add(graph, "ffi.Array", [add(graph, "ffi.String", "-fmad=false")])
    pair = [add(graph, "ffi.String", "tl.enable_fast_math"), add(graph, "ffi.Array", [])]
    attributes.extend([add(graph, "ffi.String", "tilelang_pass_configs"), add(graph, "ffi.Map", pair)])
    assert code_of(graph, DocumentError) == "ir-bad-field"
    pair[1] = add(graph, "bool", True)
    attributes[-1] = add(graph, "ffi.Map", pair)
    settings = precheck(json.dumps(graph)).settings()
    assert (settings.build_options, settings.compiler_flags) == (("fast_math",), ("-fmad=false",))


@pytest.mark.parametrize("break_it", [lambda n: n.update(type="tirx.Nothing"), lambda n: n.pop("data")])
def test_a_broken_node_is_named_by_its_place(graph: Graph, break_it: Callable[[Graph], object]) -> None:
    index = find(graph, "tirx.For")
    break_it(graph["nodes"][index])
    with pytest.raises(DocumentError) as caught:
        precheck(json.dumps(graph))
    assert caught.value.place == f"/nodes/{index}"
