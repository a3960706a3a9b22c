"""Whether a text is an IR document that TVM may read. Pure Python, no TVM: the service checks before any child does.

TVM's JSON reader trusts its input. Here the whole graph is checked first: known node types, exactly their fields, indices
inside the document, no cycle, bounded size, depth and unfolded size, names that cannot carry source text, operators and
annotation keys from an allow list. What passes may still be invalid for TVM; that is why only children read it.
"""

import json
import re
from dataclasses import dataclass
from typing import Any

from warpwright.lowering.frontend.author_settings import (
    FLAG,
    FLAGS,
    PASS_CONFIGS,
    SETTING_NAME,
    AuthorSettings,
    author_settings,
)
from warpwright.lowering.frontend.nodes import FIELDS, LEAVES
from warpwright.lowering.frontend.operators import (
    ANNOTATION_KEYS,
    ATTRIBUTE_KEYS,
    FOREIGN_KEYS,
    FUNCTION_ATTRIBUTES,
    operator_verdict,
)
from warpwright.lowering.frontend.slots import wrong_slot
from warpwright.solver.domain import DocumentError, ForeignCode

__all__ = ["LIMIT_BYTES", "MAX_DEPTH", "MAX_UNFOLDED", "IrDocument", "precheck"]

LIMIT_BYTES = 32 * 2**20
MAX_DEPTH = 600
"""Deepest chain of references: TVM's visitors recurse; a hand-written kernel stays near 100."""
MAX_UNFOLDED = 20_000_000
"""Nodes of the document unfolded to a tree: visitors without memory visit shared parts again each time."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.$]{0,255}\Z")
_WORDS = re.compile(r"[A-Za-z0-9_.:+\- ]{0,256}\Z")
_DTYPE = re.compile(r"(?:bool|handle|void|(?:u?int|b?float|fp)[0-9]+(?:_[a-z0-9]+)*)(?:x[0-9]+)?\Z")


@dataclass(frozen=True, slots=True)
class IrDocument:
    """A checked document: ``nodes`` as in the JSON, ``root`` the index of the ``tirx.PrimFunc``.

    ``order`` lists the reachable nodes so that every node comes after those it refers to.
    """

    root: int
    nodes: list[dict[str, Any]]
    order: tuple[int, ...]
    free_maps: frozenset[int]
    """Maps whose keys are not annotation keys: the function's attributes, and role names of a schedule's bodies."""

    def text(self, index: int) -> str:
        """The string of an ``ffi.String`` node."""
        return str(self.nodes[index]["data"])

    def text_of(self, index: int) -> str:
        """As :meth:`text`; empty if the node is not a string."""
        return self.text(index) if self.nodes[index]["type"] == "ffi.String" else ""

    def children(self, index: int) -> list[int]:
        """Indices of the nodes that this node refers to, fields in the order of the type's declaration."""
        return _references(self.nodes[index])

    def symbol(self) -> str:
        """The function's ``global_symbol``, empty if it has none."""
        attributes = self.nodes[self.root]["data"]["attrs"]
        if self.nodes[attributes]["type"] != "ir.DictAttrs":
            return ""
        pairs = self.pairs(self.nodes[attributes]["data"]["__dict__"])
        return next((self.text_of(value) for key, value in pairs if self.text_of(key) == "global_symbol"), "")

    def settings(self) -> AuthorSettings:
        """The build settings that the kernel brings along."""
        attributes = self.nodes[self.root]["data"]["attrs"]
        if self.nodes[attributes]["type"] != "ir.DictAttrs":
            return AuthorSettings()
        found = {self.text_of(key): value for key, value in self.pairs(self.nodes[attributes]["data"]["__dict__"])}
        pairs = self.pairs(found[PASS_CONFIGS]) if PASS_CONFIGS in found else []
        flags = self.nodes[found[FLAGS]]["data"] if FLAGS in found else []
        configs = {self.text_of(key): self._value(value) for key, value in pairs}
        return author_settings(configs, [self.text_of(item) for item in flags])

    def _value(self, index: int) -> Any:
        data = self.nodes[index]["data"]
        return data["value"] if isinstance(data, dict) else data

    def pairs(self, index: int) -> list[tuple[int, int]]:
        """Key and value indices of an ``ffi.Map`` node."""
        data = self.nodes[index]["data"]
        return list(zip(data[::2], data[1::2], strict=True))


def precheck(text: str, *, limit_bytes: int = LIMIT_BYTES) -> IrDocument:
    """Check IR JSON text (``tvm.ir.save_json`` of a ``PrimFunc``).

    Raises:
        DocumentError: ``ir-too-large``, ``ir-not-json``, ``ir-not-a-graph``, ``ir-unknown-node``, ``ir-bad-field``,
            ``ir-bad-name``, ``ir-cyclic``, ``ir-too-deep``, ``ir-too-unfolded``, ``ir-not-a-primfunc``.
        ForeignCode: ``foreign-call``, ``foreign-source``, ``foreign-annotation``.
    """
    if len(text) > limit_bytes or len(text.encode(errors="surrogatepass")) > limit_bytes:
        raise DocumentError(f"the IR is larger than {limit_bytes} bytes", code="ir-too-large", place="/")
    nodes, root = _parse(text)
    for index, node in enumerate(nodes):
        _check_node(index, node, nodes)
    if nodes[root]["type"] != "tirx.PrimFunc":
        raise DocumentError(f"the root is {nodes[root]['type']!r}, not a PrimFunc", code="ir-not-a-primfunc", place="/")
    order = _topological(nodes, root)
    document = IrDocument(root, nodes, order, _free_maps(nodes, order))
    _check_bounds(document)
    for index, node in enumerate(nodes):
        _check_slots(index, node, nodes)
    for index in document.order:
        _check_meaning(document, index)
    return document


def _parse(text: str) -> tuple[list[dict[str, Any]], int]:
    try:
        data = json.loads(text, parse_constant=_constant)
    except (ValueError, RecursionError) as error:
        raise DocumentError(f"the IR is not JSON: {error}", code="ir-not-json", place="/") from error
    if not isinstance(data, dict) or not isinstance(data.get("nodes"), list) or not data["nodes"]:
        raise DocumentError(
            "the IR is not a graph: an object with 'nodes' is expected", code="ir-not-a-graph", place="/"
        )
    root = data.get("root_index")
    if not _is_index(root, len(data["nodes"])):
        raise DocumentError("'root_index' is not the index of a node", code="ir-not-a-graph", place="/root_index")
    return data["nodes"], root  # type: ignore[return-value]  # checked by _is_index just above


def _constant(name: str) -> float:
    """``json`` calls this for NaN and infinities, which TVM writes for such immediates."""
    return float(name.replace("Infinity", "inf").replace("NaN", "nan"))


def _is_index(value: object, count: int) -> bool:
    return type(value) is int and 0 <= value < count


def _check_node(index: int, node: object, nodes: list[dict[str, Any]]) -> None:
    place = f"/nodes/{index}"
    if not isinstance(node, dict) or not isinstance(node.get("type"), str):
        raise DocumentError("a node must be an object with a type", code="ir-not-a-graph", place=place)
    name = node["type"]
    if name in FIELDS:
        data = node.get("data")
        if not isinstance(data, dict) or data.keys() != FIELDS[name].keys() or node.keys() != {"type", "data"}:
            raise DocumentError(f"{name} does not have the expected fields", code="ir-bad-field", place=place)
        for field, kind in FIELDS[name].items():
            if not _field_fits(kind, data[field], len(nodes)):
                raise DocumentError(
                    f"{name}.{field} is not a {kind}", code="ir-bad-field", place=f"{place}/data/{field}"
                )
        return
    if name not in LEAVES:
        raise DocumentError(f"nodes of type {name!r} are not accepted", code="ir-unknown-node", place=place)
    if not _leaf_fits(name, node, len(nodes)):
        raise DocumentError(f"{name} has a wrong value", code="ir-bad-field", place=place)


def _check_slots(index: int, node: dict[str, Any], nodes: list[dict[str, Any]]) -> None:
    wrong = wrong_slot(node, nodes) if node["type"] in FIELDS else None
    if wrong is not None:
        field, slot = wrong
        found = nodes[node["data"][field]]["type"]
        message = f"{node['type']}.{field} is not a {slot.what}: {found}"
        raise DocumentError(message, code="ir-bad-field", place=f"/nodes/{index}/data/{field}")


def _field_fits(kind: str, value: object, count: int) -> bool:
    if kind == "ref":
        return _is_index(value, count)
    if kind == "int":
        return type(value) is int and -(2**63) <= value < 2**63
    if kind == "float":
        return type(value) in (int, float)
    if kind == "bool":
        return type(value) is bool
    return isinstance(value, str) and (value == "" or _DTYPE.match(value) is not None)


def _leaf_fits(name: str, node: dict[str, Any], count: int) -> bool:
    data = node.get("data")
    if name == "None":
        return data is None
    if name in ("ffi.Array", "ffi.Map"):
        fits = isinstance(data, list) and all(_is_index(item, count) for item in data)
        return fits and (name == "ffi.Array" or len(data or ()) % 2 == 0)
    if name == "bool":
        return type(data) is bool
    if name == "int":
        return type(data) is int and -(2**63) <= data < 2**63
    if name == "float":
        return type(data) in (int, float)
    return isinstance(data, str)


def _references(node: dict[str, Any]) -> list[int]:
    name, data = node["type"], node.get("data")
    if name in FIELDS:
        return [data[field] for field, kind in FIELDS[name].items() if kind == "ref"]  # type: ignore[index]
    return list(data) if name in ("ffi.Array", "ffi.Map") and data else []


def _topological(nodes: list[dict[str, Any]], root: int) -> tuple[int, ...]:
    """Reachable nodes, referred ones first; refuses a cycle. Iterative, because the depth is the sender's choice."""
    done, on_path, order = set[int](), set[int](), list[int]()
    stack = [(root, iter(_references(nodes[root])))]
    on_path.add(root)
    while stack:
        index, references = stack[-1]
        child = next(references, None)
        if child is None:
            stack.pop()
            on_path.discard(index)
            done.add(index)
            order.append(index)
        elif child in on_path:
            raise DocumentError("the IR refers to itself", code="ir-cyclic", place=f"/nodes/{child}")
        elif child not in done:
            on_path.add(child)
            stack.append((child, iter(_references(nodes[child]))))
    return tuple(order)


def _free_maps(nodes: list[dict[str, Any]], order: tuple[int, ...]) -> frozenset[int]:
    owners = {"ir.DictAttrs": "__dict__", "tl.WSScope": "bodies"}
    owning = (nodes[index] for index in order if nodes[index]["type"] in owners)
    free = frozenset(node["data"][owners[node["type"]]] for node in owning)
    return free | frozenset(value for index in free for value in _settings_map(nodes, index))


def _settings_map(nodes: list[dict[str, Any]], index: int) -> list[int]:
    """The map of the author's pass configurations, if this is the map of a function's attributes."""
    data = nodes[index]["data"] if nodes[index]["type"] == "ffi.Map" else []
    return [value for key, value in zip(data[::2], data[1::2], strict=True) if nodes[key].get("data") == PASS_CONFIGS]


def _check_bounds(document: IrDocument) -> None:
    depth, size = dict[int, int](), dict[int, int]()
    for index in document.order:
        children = document.children(index)
        depth[index] = 1 + max((depth[child] for child in children), default=0)
        size[index] = 1 + sum(size[child] for child in children)
        if depth[index] > MAX_DEPTH:
            raise DocumentError(f"deeper than {MAX_DEPTH} references", code="ir-too-deep", place=f"/nodes/{index}")
        if size[index] > MAX_UNFOLDED:
            message = f"shared parts unfold to more than {MAX_UNFOLDED} nodes"
            raise DocumentError(message, code="ir-too-unfolded", place=f"/nodes/{index}")


def _check_meaning(document: IrDocument, index: int) -> None:
    node, place = document.nodes[index], f"/nodes/{index}"
    name, data = node["type"], node.get("data", {})
    if name == "ir.Op":
        if operator_verdict(str(data)) == "foreign-call":
            raise ForeignCode(f"operator {data!r} is not on the allow list", code="foreign-call", place=place)
    elif name == "ffi.Map":
        _check_keys(document, index, place)
    elif name == "ir.DictAttrs":
        _check_attributes(document, data["__dict__"], place)
    elif name == "tirx.AttrStmt":
        _check_key(document.text_of(data["attr_key"]), ATTRIBUTE_KEYS | ANNOTATION_KEYS, place)
    elif name in ("tirx.Var", "tirx.SizeVar", "tirx.Buffer", "tl.WSRole", "tl.WSPipeline"):
        _check_name(document.text_of(data["name"]), place)
    elif name == "tirx.Call" and document.nodes[data["op"]]["type"] != "ir.Op":
        raise ForeignCode("a call of something that is not an operator", code="foreign-call", place=place)
    elif name == "ffi.String" and not (_WORDS.match(str(data)) or FLAG.match(str(data))):
        raise DocumentError("a string with characters that a name cannot have", code="ir-bad-name", place=place)


def _check_name(text: str, place: str) -> None:
    """Names are copied into generated source, so they must be identifiers. TVM names a nameless one itself."""
    if text and not _NAME.match(text):
        raise DocumentError(f"{text[:80]!r} is not an identifier", code="ir-bad-name", place=place)


def _check_attributes(document: IrDocument, index: int, place: str) -> None:
    if document.nodes[index]["type"] != "ffi.Map":
        raise DocumentError("the function's attributes are not a map", code="ir-bad-field", place=place)
    for key, value in document.pairs(index):
        text = document.text_of(key)
        if text == "global_symbol":
            _check_name(document.text_of(value), place)
        elif text == PASS_CONFIGS:
            _check_settings(document, value, place)
        elif text == FLAGS:
            _check_flags(document, value, place)
        else:
            _check_key(text, FUNCTION_ATTRIBUTES, place)


def _check_settings(document: IrDocument, index: int, place: str) -> None:
    """Names of settings and plain values; which builds follow one is decided where they are built."""
    kinds = ("bool", "int", "ffi.String", "tirx.IntImm", "ir.IntImm")
    if document.nodes[index]["type"] != "ffi.Map":
        raise DocumentError(f"{PASS_CONFIGS} is not a map", code="ir-bad-field", place=place)
    for key, value in document.pairs(index):
        if not SETTING_NAME.match(document.text_of(key)) or document.nodes[value]["type"] not in kinds:
            message = f"a pass configuration {document.text_of(key)[:80]!r} that is not a name and a plain value"
            raise DocumentError(message, code="ir-bad-field", place=place)


def _check_flags(document: IrDocument, index: int, place: str) -> None:
    """Flags as :func:`~warpwright.lowering.frontend.author_settings.author_settings` writes them."""
    items = document.nodes[index]["data"] if document.nodes[index]["type"] == "ffi.Array" else None
    texts = [document.text_of(item) for item in items or ()]
    if items is None or not all(FLAG.match(text) for text in texts):
        raise ForeignCode(f"{FLAGS} has something that is no flag", code="foreign-source", place=place)


def _check_keys(document: IrDocument, index: int, place: str) -> None:
    for key, _ in document.pairs(index):
        if document.nodes[key]["type"] == "ffi.String" and index not in document.free_maps:
            _check_key(document.text(key), ANNOTATION_KEYS, place)


def _check_key(key: str, allowed: frozenset[str], place: str) -> None:
    if any(key.startswith(prefix) for prefix in FOREIGN_KEYS):
        raise ForeignCode(
            f"annotation {key!r} contains source text or compiler flags", code="foreign-source", place=place
        )
    if key not in allowed:
        raise ForeignCode(f"annotation {key!r} is not on the allow list", code="foreign-annotation", place=place)
