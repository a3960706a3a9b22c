"""Identity of a kernel: equal for kernels that differ only in names, spans and JSON order, different for all others.

Every node gets a digest from its type, its fields and the digests of what it refers to. Variables and buffers are numbered
by their first appearance in a walk whose order the kernel alone decides (fields as declared, lists in order, annotations by
key), so no name, node index or object address enters. Pure Python: a service hashes without TVM, any host gives the same.
"""

import hashlib
import json
import struct
from typing import Any

from warpwright.lowering.frontend.nodes import FIELDS, IGNORED_FIELDS
from warpwright.lowering.frontend.precheck import LIMIT_BYTES, IrDocument, precheck

__all__ = ["HASH_VERSION", "hash_document", "ir_hash"]

HASH_VERSION = "warpwright-ir-1"
"""Part of every digest: it changes with the walk, so that no stored result answers a different kernel."""

_NUMBERED = frozenset({"tirx.Var", "tirx.SizeVar", "tirx.Buffer"})


def ir_hash(text: str, *, limit_bytes: int = LIMIT_BYTES) -> str:
    """``sha256:...`` of IR JSON text; raises what :func:`warpwright.lowering.frontend.precheck.precheck` raises."""
    return hash_document(precheck(text, limit_bytes=limit_bytes))


def hash_document(document: IrDocument) -> str:
    """``sha256:...`` of a checked document."""
    numbers = _Numbering(document).numbers
    digests: dict[int, bytes] = {}
    for index in document.order:
        digests[index] = _digest(document, index, numbers, digests)
    return "sha256:" + hashlib.sha256(HASH_VERSION.encode() + digests[document.root]).hexdigest()


class _Numbering:
    """Numbers of variables and buffers, in the order of a depth-first walk from the root."""

    def __init__(self, document: IrDocument) -> None:
        self.numbers: dict[int, int] = {}
        self._document = document
        seen = set[int]()
        stack = [document.root]
        while stack:
            index = stack.pop()
            if index in seen:
                continue
            seen.add(index)
            if document.nodes[index]["type"] in _NUMBERED:
                self.numbers[index] = len(self.numbers)
            stack.extend(reversed(self._walk_order(index)))

    def _walk_order(self, index: int) -> list[int]:
        node = self._document.nodes[index]
        if node["type"] == "ffi.Map":
            pairs = sorted(self._document.pairs(index), key=lambda pair: self._key_rank(pair[0]))
            return [part for pair in pairs for part in pair]
        return _identity_references(self._document, index)

    def _key_rank(self, key: int) -> tuple[int, str, int]:
        """Strings by text, then variables by number (all met before: a map's keys are parameters or allocations)."""
        if self._document.nodes[key]["type"] == "ffi.String":
            return (0, self._document.text(key), 0)
        return (1, "", self.numbers.get(key, len(self.numbers)))


def _identity_fields(node: dict[str, Any]) -> list[tuple[str, str]]:
    """Fields that count, in an order where definitions come before uses (a function's parameters before its body)."""
    fields = [(name, kind) for name, kind in FIELDS[node["type"]].items() if name not in IGNORED_FIELDS]
    if node["type"] == "tirx.SBlock":
        # The allocations first: annotations and regions refer to them.
        fields.sort(key=lambda field: (field[0] != "alloc_buffers", field[0] == "body"))
    if node["type"] == "tirx.PrimFunc":
        fields.sort(key=lambda field: ("params", "buffer_map", "body", "ret_type", "attrs").index(field[0]))
    return fields


def _identity_references(document: IrDocument, index: int) -> list[int]:
    node = document.nodes[index]
    if node["type"] in FIELDS:
        return [node["data"][name] for name, kind in _identity_fields(node) if kind == "ref"]
    return document.children(index)


def _digest(document: IrDocument, index: int, numbers: dict[int, int], digests: dict[int, bytes]) -> bytes:
    node = document.nodes[index]
    state = hashlib.sha256(node["type"].encode() + b"\0")
    if index in numbers:
        state.update(struct.pack(">q", numbers[index]))
    if node["type"] in FIELDS:
        for name, kind in _identity_fields(node):
            value = node["data"][name]
            state.update(name.encode() + b"\0")
            state.update(digests[value] if kind == "ref" else _scalar(value))
    elif node["type"] == "ffi.Map":
        for part in sorted(digests[key] + digests[value] for key, value in _counted_pairs(document, index)):
            state.update(part)
    elif node["type"] == "ffi.Array":
        for item in node["data"]:
            state.update(digests[item])
    elif node["type"] not in ("ir.SourceName", "None"):
        state.update(_scalar(node["data"]))
    return state.digest()


def _counted_pairs(document: IrDocument, index: int) -> list[tuple[int, int]]:
    return [pair for pair in document.pairs(index) if document.text_of(pair[0]) != "global_symbol"]


def _scalar(value: object) -> bytes:
    """One form for one value; a float by its bits, so that 0.1 and the nearest other number differ and NaN is equal to itself."""
    if isinstance(value, float):
        return b"f" + struct.pack(">d", value)
    return json.dumps(value, sort_keys=True).encode() + b"\0"
