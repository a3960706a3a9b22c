"""One kernel, one hash: names, order and spans do not matter, everything that the device computes does."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from warpwright.lowering.frontend.irhash import ir_hash

GOLDEN = Path(__file__).parents[3] / "golden" / "ir" / "one_trip.json"
Graph = dict[str, Any]


@pytest.fixture
def graph() -> Graph:
    document: Graph = json.loads(GOLDEN.read_text())
    return document


def hashed(graph: Graph) -> str:
    return ir_hash(json.dumps(graph))


def shuffled(graph: Graph, seed: int) -> Graph:
    """The same kernel with its nodes in another order and the fields of each in another order."""
    from warpwright.lowering.frontend.nodes import FIELDS

    rng = random.Random(seed)
    order = list(range(len(graph["nodes"])))
    rng.shuffle(order)
    place = {old: new for new, old in enumerate(order)}
    nodes = []
    for old in order:
        node = graph["nodes"][old]
        data = node.get("data")
        if node["type"] in FIELDS:
            fields = list(data.items())
            rng.shuffle(fields)
            kinds = FIELDS[node["type"]]
            data = {name: place[value] if kinds[name] == "ref" else value for name, value in fields}
        elif node["type"] == "ffi.Array":
            data = [place[item] for item in data]
        elif node["type"] == "ffi.Map":
            pairs = list(zip(data[::2], data[1::2], strict=True))
            rng.shuffle(pairs)
            data = [place[part] for pair in pairs for part in pair]
        nodes.append({"type": node["type"]} | ({} if "data" not in node else {"data": data}))
    return {"metadata": {"tvm_version": "another"}, "nodes": nodes, "root_index": place[graph["root_index"]]}


def of_type(graph: Graph, kind: str) -> list[Graph]:
    return [node for node in graph["nodes"] if node["type"] == kind]


@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_nodes_fields_and_map_entries_does_not_matter(graph: Graph, seed: int) -> None:
    assert hashed(shuffled(graph, seed)) == hashed(graph)


def test_names_of_the_function_its_buffers_and_variables_do_not_matter(graph: Graph) -> None:
    expected = hashed(graph)
    renamed = {"main", "As", "Bs", "acc", "A", "B", "C", "A_handle", "B_handle", "C_handle", "ko", "bx", "by"}
    for node in of_type(graph, "ffi.String"):
        if node["data"] in renamed:
            node["data"] = f"other_{node['data']}"
    assert hashed(graph) == expected


def test_source_lines_do_not_matter(graph: Graph) -> None:
    expected = hashed(graph)
    for node in of_type(graph, "ir.Span"):
        node["data"]["line"] += 100
    for node in of_type(graph, "ir.SourceName"):
        node["data"] = "elsewhere.py"
    assert hashed(graph) == expected


def test_every_integer_constant_matters(graph: Graph) -> None:
    expected = hashed(graph)
    from warpwright.lowering.frontend.precheck import precheck

    document = precheck(json.dumps(graph))
    info = _struct_info(document)
    for index in document.order:
        node = graph["nodes"][index]
        if node["type"] == "ir.IntImm" and index not in info:
            node["data"]["value"] += 1
            assert hashed(graph) != expected, index
            node["data"]["value"] -= 1
    assert hashed(graph) == expected


@pytest.mark.parametrize(
    ("kind", "field", "value"),
    [
        ("tirx.Buffer", "dtype", "float64"),
        ("tirx.Buffer", "data_alignment", 128),
        ("ir.IntImm", "dtype", "int16"),
        ("tirx.For", "kind", 2),
    ],
)
def test_types_alignment_and_loop_kinds_matter(graph: Graph, kind: str, field: str, value: object) -> None:
    expected = hashed(graph)
    of_type(graph, kind)[-1]["data"][field] = value
    assert hashed(graph) != expected


def test_an_annotation_matters(graph: Graph) -> None:
    expected = hashed(graph)
    stages = next(node for node in of_type(graph, "ffi.String") if node["data"] == "num_stages")
    stages["data"] = "batch"
    assert hashed(graph) != expected


def test_which_buffer_is_meant_matters_though_all_are_nameless(graph: Graph) -> None:
    """Swapping the operands of a copy is another kernel, also when both have one shape and type."""
    expected = hashed(graph)
    call = next(n for n in of_type(graph, "tirx.Call") if graph["nodes"][n["data"]["op"]]["data"] == "tl.tileop.gemm")
    arguments = graph["nodes"][call["data"]["args"]]["data"]
    arguments[0], arguments[1] = arguments[1], arguments[0]
    assert hashed(graph) != expected


def test_the_hash_is_the_same_on_every_host_and_in_every_version_of_the_walk(graph: Graph) -> None:
    """A change of this value makes every stored result stale: change HASH_VERSION with it, on purpose."""
    assert hashed(graph) == "sha256:fe9768cd653b5305b3761c0ec653400f80f6abf51cc3bf7979be73efbfa805a4"


def _struct_info(document: Any) -> set[int]:
    """Nodes that only the derived type of the function refers to: they repeat what the parameters say."""
    kept, dropped = set[int](), set[int]()

    def collect(index: int, into: set[int]) -> None:
        for child in document.children(index):
            if child not in into:
                into.add(child)
                collect(child, into)

    root = document.nodes[document.root]["data"]
    for name, value in root.items():
        into = dropped if name in ("struct_info_", "span") else kept
        into.add(value)
        collect(value, into)
    return dropped - kept
