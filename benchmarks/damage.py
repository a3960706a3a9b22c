"""Damage to IR documents: what a broken client, a torn file or an attacker would send.

Most of it keeps the document's grammar (a reference to another node of the same kind, another constant), because a check of
types refuses the rest before any compiler sees it.
"""

import contextlib
import copy
import json
import random
from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["Graph", "damaged"]

Graph = dict[str, Any]

_VALUES: tuple[Any, ...] = (0, 1, -1, 2, 7, 2**31, -(2**31), 2**63 - 1, 2**63, 1e300, "", "x", None, True, [], {}, 0.5)
_STRINGS = (
    "",
    "a;b",
    "tl.ws_schedule",
    "shared.dyn",
    "pragma_import_c",
    "x" * 1000,
    "\u0000",
    "é",
    "main",
    "num_stages",
)
_TYPES = (
    "tirx.Var",
    "tirx.For",
    "ffi.Array",
    "ffi.Map",
    "None",
    "ir.IntImm",
    "tirx.Buffer",
    "ir.IRModule",
    "tirx.While",
)
_OPERATORS = ("tl.tileop.gemm", "tl.region", "tirx.call_extern", "tl.tileop.reduce", "tirx.exp2", "tl.tileop.fill", "")


def damaged(graph: Graph, seed: int) -> Iterator[str]:
    """Endless damaged copies of a document, as text: one to four changes each, now and then torn text."""
    rng = random.Random(seed)
    text = json.dumps(graph)
    while True:
        if rng.random() < 0.04:
            yield _torn(rng, text)
            continue
        wounded = copy.deepcopy(graph)
        for _ in range(rng.choice((1, 1, 1, 2, 3, 4))):
            # A change may need what an earlier one removed; then the document has one change less.
            with contextlib.suppress(KeyError, TypeError, AttributeError, IndexError):
                rng.choice(_WOUNDS)(rng, wounded)
        yield json.dumps(wounded)


def _torn(rng: random.Random, text: str) -> str:
    where = rng.randrange(len(text))
    return text[:where] if rng.random() < 0.5 else text[:where] + rng.choice('{}[]",:0x') + text[where + 1 :]


def _field(rng: random.Random, graph: Graph) -> None:
    """A field gets another value, another reference, or goes."""
    node = rng.choice(graph["nodes"])
    data = node.get("data")
    if isinstance(data, dict) and data:
        name = rng.choice(list(data))
        choice = rng.random()
        if choice < 0.1:
            del data[name]
        elif choice < 0.7 and isinstance(data[name], int):
            data[name] = rng.randrange(len(graph["nodes"]))
        else:
            data[name] = rng.choice(_VALUES)


def _entry(rng: random.Random, graph: Graph) -> None:
    """A list loses, gains, repeats or swaps entries."""
    lists = [node["data"] for node in graph["nodes"] if node["type"] in ("ffi.Array", "ffi.Map") and node.get("data")]
    if not lists:
        return
    entries = rng.choice(lists)
    choice = rng.randrange(4)
    if choice == 0:
        entries.pop(rng.randrange(len(entries)))
    elif choice == 1:
        entries.insert(rng.randrange(len(entries) + 1), rng.randrange(len(graph["nodes"])))
    elif choice == 2:
        entries[rng.randrange(len(entries))] = rng.choice((*entries, rng.randrange(len(graph["nodes"]))))
    else:
        rng.shuffle(entries)


def _same_kind(rng: random.Random, graph: Graph) -> None:
    """A reference moves to another node of the same type: the damage that a check of types cannot see."""
    by_type: dict[str, list[int]] = {}
    for index, node in enumerate(graph["nodes"]):
        by_type.setdefault(node["type"], []).append(index)
    holders = [node for node in graph["nodes"] if isinstance(node.get("data"), (dict, list)) and node["data"]]
    node = rng.choice(holders)
    data = node["data"]
    keys = list(data) if isinstance(data, dict) else list(range(len(data)))
    references = [key for key in keys if type(data[key]) is int and 0 <= data[key] < len(graph["nodes"])]
    if references:
        key = rng.choice(references)
        data[key] = rng.choice(by_type[graph["nodes"][data[key]]["type"]])


def _constant(rng: random.Random, graph: Graph) -> None:
    """An immediate gets another value: shapes, extents, flags."""
    numbers = [node["data"] for node in graph["nodes"] if node["type"] in ("ir.IntImm", "ir.FloatImm")]
    rng.choice(numbers)["value"] = rng.choice((0, 1, -1, 2, 3, 16, 63, 128, 4096, 2**31, 2**40, -(2**62)))


def _text(rng: random.Random, graph: Graph) -> None:
    strings = [node for node in graph["nodes"] if node["type"] == "ffi.String"]
    rng.choice(strings)["data"] = rng.choice((*_STRINGS, rng.choice(strings)["data"]))


def _type(rng: random.Random, graph: Graph) -> None:
    rng.choice(graph["nodes"])["type"] = rng.choice(_TYPES)


def _operator(rng: random.Random, graph: Graph) -> None:
    operators = [node for node in graph["nodes"] if node["type"] == "ir.Op"]
    rng.choice(operators)["data"] = rng.choice((*_OPERATORS, rng.choice(operators)["data"]))


def _dtype(rng: random.Random, graph: Graph) -> None:
    typed = [node["data"] for node in graph["nodes"] if isinstance(node.get("data"), dict) and "dtype" in node["data"]]
    rng.choice(typed)["dtype"] = rng.choice(
        ("int32", "float16", "float32x4", "bool", "handle", "int1", "custom[x]", "")
    )


def _root(rng: random.Random, graph: Graph) -> None:
    graph["root_index"] = rng.choice((rng.randrange(len(graph["nodes"])), -1, None, "0"))


_WOUNDS: tuple[Callable[[random.Random, Graph], None], ...] = (
    *(_field, _entry, _same_kind, _same_kind, _same_kind, _constant, _constant, _text, _type, _operator, _dtype),
    *(_entry, _same_kind, _constant, _root),
)
