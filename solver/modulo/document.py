"""The JSON form of a generic modulo problem: strict reading with code and place, writing, and the answer's form.

``schema.json`` beside this module describes the same form for other tools; ``docs/modulo.md`` explains it.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from warpwright.solver.domain.errors import DocumentError
from warpwright.solver.modulo.problem import Edge, Group, Memory, ModuloProblem, Op, Unit, Use, Wait

__all__ = ["MAX_DOCUMENT_BYTES", "PROBLEM_SCHEMA", "parse_problem", "problem_document", "read_problem"]

PROBLEM_SCHEMA = "warpwright.modulo-problem/1"
MAX_DOCUMENT_BYTES = 8 << 20
MAX_OPS = 2_000
MAX_EDGES = 20_000
MAX_CYCLES = 1_000_000
MAX_AMOUNT = 1 << 42
MAX_STAGES = 64
MAX_DISTANCE = 64

Item = TypeVar("Item", Unit, Memory, Group, Op)


@dataclass(frozen=True, slots=True)
class _Node:
    """A JSON value with its place; every getter checks the type and the range and names the place when it refuses."""

    value: Any
    place: str

    def object(self, required: Sequence[str], optional: Sequence[str] = ()) -> Mapping[str, "_Node"]:
        """Members by name, each required one there and no other than the named ones."""
        if not isinstance(self.value, dict):
            raise self.refuse("modulo-wrong-type", "must be an object")
        for key in self.value:
            if key not in required and key not in optional:
                raise _Node(None, f"{self.place}/{key}").refuse("modulo-unknown-key", f"no key {key!r} belongs here")
        for key in required:
            if key not in self.value:
                raise self.refuse("modulo-missing-key", f"needs {key!r}")
        return {key: _Node(value, f"{self.place}/{key}") for key, value in self.value.items()}

    def items(self, most: int) -> list["_Node"]:
        """Members of a list."""
        if not isinstance(self.value, list):
            raise self.refuse("modulo-wrong-type", "must be a list")
        if len(self.value) > most:
            raise self.refuse("modulo-too-large", f"has {len(self.value)} entries, more than {most}")
        return [_Node(value, f"{self.place}/{index}") for index, value in enumerate(self.value)]

    def integer(self, least: int, most: int) -> int:
        """A whole number in a range; true, 1.0 and "1" are none."""
        if isinstance(self.value, bool) or not isinstance(self.value, int):
            raise self.refuse("modulo-wrong-type", "must be a whole number")
        if not least <= self.value <= most:
            raise self.refuse("modulo-out-of-range", f"must be from {least} to {most}")
        return self.value

    def text(self) -> str:
        """A name of 1 to 200 characters."""
        if not isinstance(self.value, str) or not 0 < len(self.value) <= 200:
            raise self.refuse("modulo-wrong-type", "must be text of 1 to 200 characters")
        return self.value

    def flag(self) -> bool:
        """True or false."""
        if not isinstance(self.value, bool):
            raise self.refuse("modulo-wrong-type", "must be true or false")
        return self.value

    def refuse(self, code: str, message: str) -> DocumentError:
        """An error at this place."""
        return DocumentError(f"{self.place or '/'} {message}", code=code, place=self.place or "/")


def read_problem(path: str | Path) -> ModuloProblem:
    """A problem from a file.

    Raises:
        DocumentError: ``modulo-unreadable``, ``modulo-too-large``, or as :func:`parse_problem`.
    """
    file = Path(path)
    try:
        if file.stat().st_size > MAX_DOCUMENT_BYTES:
            raise DocumentError(f"a problem has at most {MAX_DOCUMENT_BYTES} bytes", code="modulo-too-large", place="/")
        return parse_problem(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise DocumentError(f"cannot read: {error}", code="modulo-unreadable", place=str(path)) from error


def parse_problem(text: str) -> ModuloProblem:
    """A problem from JSON text.

    Raises:
        DocumentError: ``modulo-not-json``, ``modulo-schema``, ``modulo-unknown-key``, ``modulo-missing-key``,
            ``modulo-wrong-type``, ``modulo-out-of-range``, ``modulo-too-large``, ``modulo-duplicate-id``,
            ``modulo-unknown-reference`` or ``modulo-no-group``, with a JSON pointer as the place.
    """
    try:
        document = json.loads(text, object_pairs_hook=_no_duplicates)
    except (ValueError, RecursionError) as error:
        raise DocumentError(f"not JSON: {error}", code="modulo-not-json", place="/") from error
    root = _Node(document, "")
    members = root.object(("schema", "name", "units", "ops", "edges"), ("title", "memories", "groups", "max_stages"))
    if members["schema"].value != PROBLEM_SCHEMA:
        raise members["schema"].refuse("modulo-schema", f"must be {PROBLEM_SCHEMA!r}")
    units = _named(members["units"], 64, _unit, lambda unit: unit.name)
    memories = _named(members["memories"], 64, _memory, lambda memory: memory.name) if "memories" in members else ()
    groups = _named(members["groups"], 32, _group, lambda group: group.name) if "groups" in members else ()
    ops = _named(members["ops"], MAX_OPS, _op, lambda op: op.id)
    if not ops:
        raise members["ops"].refuse("modulo-out-of-range", "must hold at least one operation")
    edges = tuple(_edge(node) for node in members["edges"].items(MAX_EDGES))
    _references(ops, edges, {unit.name for unit in units}, {memory.name for memory in memories})
    for index, op in enumerate(ops):
        for number, name in enumerate(op.groups):
            _known(name, {group.name for group in groups}, f"/ops/{index}/groups/{number}")
    for index, op in enumerate(ops):
        if op.registers and not groups:
            node = _Node(None, f"/ops/{index}/registers")
            raise node.refuse("modulo-no-group", "needs groups: registers are held by the threads of a group")
    stages = members["max_stages"].integer(1, MAX_STAGES) if "max_stages" in members else 4
    title = members["title"].text() if "title" in members else ""
    return ModuloProblem(members["name"].text(), units, ops, edges, memories, groups, stages, title)


def problem_document(problem: ModuloProblem) -> dict[str, Any]:
    """The problem in its JSON form; :func:`parse_problem` reads it back to an equal problem."""
    return {
        "schema": PROBLEM_SCHEMA,
        "name": problem.name,
        **({"title": problem.title} if problem.title else {}),
        "units": [{"name": unit.name, "capacity": unit.capacity} for unit in problem.units],
        "memories": [{"name": memory.name, "capacity": memory.capacity} for memory in problem.memories],
        "groups": [
            {
                "name": group.name,
                "warps": group.warps,
                "registers": group.registers,
                "variable_latency": group.variable_latency,
            }
            for group in problem.groups
        ],
        "ops": [_op_document(op) for op in problem.ops],
        "edges": [_edge_document(edge) for edge in problem.edges],
        "max_stages": problem.max_stages,
    }


def _op_document(op: Op) -> dict[str, Any]:
    return {
        "id": op.id,
        "cycles": op.cycles,
        "uses": [
            {"unit": use.unit, "cycles": use.cycles, "offset": use.offset, "amount": use.amount} for use in op.uses
        ],
        "warps": op.warps,
        "registers": op.registers,
        "memory": dict(op.memory),
        "spill_cycles": op.spill_cycles,
        "variable_latency": op.variable_latency,
        **({"groups": list(op.groups)} if op.groups else {}),
    }


def _edge_document(edge: Edge) -> dict[str, Any]:
    return {
        "from": edge.source,
        "to": edge.target,
        "latency": edge.latency,
        "distance": edge.distance,
        "wait": edge.wait.value,
        "value": edge.value,
        "hold": edge.hold,
    }


def _named(node: _Node, most: int, read: Callable[[_Node], Item], name: Callable[[Item], str]) -> tuple[Item, ...]:
    """Members of a list that have names, no name twice."""
    found: dict[str, Item] = {}
    for member in node.items(most):
        item = read(member)
        if name(item) in found:
            raise member.refuse("modulo-duplicate-id", f"repeats the name {name(item)!r}")
        found[name(item)] = item
    return tuple(found.values())


def _unit(node: _Node) -> Unit:
    members = node.object(("name", "capacity"))
    return Unit(members["name"].text(), members["capacity"].integer(1, MAX_AMOUNT))


def _memory(node: _Node) -> Memory:
    members = node.object(("name", "capacity"))
    return Memory(members["name"].text(), members["capacity"].integer(1, MAX_AMOUNT))


def _group(node: _Node) -> Group:
    members = node.object(("name", "warps", "registers"), ("variable_latency",))
    variable = "variable_latency" in members and members["variable_latency"].flag()
    return Group(
        members["name"].text(), members["warps"].integer(1, 64), members["registers"].integer(0, 65_536), variable
    )


def _op(node: _Node) -> Op:
    optional = ("uses", "warps", "registers", "memory", "spill_cycles", "variable_latency", "groups")
    members = node.object(("id", "cycles"), optional)
    uses = tuple(_use(use) for use in members["uses"].items(64)) if "uses" in members else ()
    memory: list[tuple[str, int]] = []
    if "memory" in members:
        names = members["memory"].value
        held = members["memory"].object((), tuple(names) if isinstance(names, dict) else ())
        memory = [(name, size.integer(0, MAX_AMOUNT)) for name, size in held.items()]
    return Op(
        members["id"].text(),
        members["cycles"].integer(0, MAX_CYCLES),
        uses,
        members["warps"].integer(1, 64) if "warps" in members else 1,
        members["registers"].integer(0, 65_536) if "registers" in members else 0,
        tuple(memory),
        members["spill_cycles"].integer(0, MAX_CYCLES) if "spill_cycles" in members else 0,
        members["variable_latency"].flag() if "variable_latency" in members else False,
        tuple(name.text() for name in members["groups"].items(32)) if "groups" in members else (),
    )


def _use(node: _Node) -> Use:
    members = node.object(("unit", "cycles"), ("offset", "amount"))
    return Use(
        members["unit"].text(),
        members["cycles"].integer(0, MAX_CYCLES),
        members["offset"].integer(0, MAX_CYCLES) if "offset" in members else 0,
        members["amount"].integer(1, MAX_AMOUNT) if "amount" in members else 1,
    )


def _edge(node: _Node) -> Edge:
    members = node.object(("from", "to", "latency"), ("distance", "wait", "value", "hold"))
    wait = members["wait"].text() if "wait" in members else Wait.ACROSS.value
    if wait not in [member.value for member in Wait]:
        allowed = ", ".join(member.value for member in Wait)
        raise members["wait"].refuse("modulo-out-of-range", f"must be one of {allowed}")
    return Edge(
        members["from"].text(),
        members["to"].text(),
        members["latency"].integer(0, MAX_CYCLES),
        members["distance"].integer(0, MAX_DISTANCE) if "distance" in members else 0,
        Wait(wait),
        members["value"].flag() if "value" in members else True,
        members["hold"].integer(0, MAX_CYCLES) if "hold" in members else 0,
    )


def _references(ops: Sequence[Op], edges: Sequence[Edge], units: set[str], memories: set[str]) -> None:
    known = {op.id for op in ops}
    for index, op in enumerate(ops):
        for number, use in enumerate(op.uses):
            _known(use.unit, units, f"/ops/{index}/uses/{number}/unit")
        for name, _ in op.memory:
            _known(name, memories, f"/ops/{index}/memory/{name}")
    for index, edge in enumerate(edges):
        _known(edge.source, known, f"/edges/{index}/from")
        _known(edge.target, known, f"/edges/{index}/to")


def _known(name: str, names: set[str], place: str) -> None:
    if name not in names:
        raise _Node(None, place).refuse("modulo-unknown-reference", f"names {name!r}, which the problem does not have")


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("an object names a key twice")
    return members
