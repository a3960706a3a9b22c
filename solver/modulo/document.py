"""The JSON form of a generic modulo problem: strict reading with code and place, and writing.

Pydantic reads and writes the dataclasses of :mod:`warpwright.solver.modulo.problem` by their types; what a type
cannot express (names that refer to other parts) is checked here. ``schema.json`` beside this module is derived from
the same types and describes the
form for other tools; ``docs/modulo.md`` explains it.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from warpwright.solver.domain.errors import DocumentError
from warpwright.solver.modulo.problem import Group, ModuloEdge, ModuloMemory, ModuloOp, ModuloProblem, ModuloUnit, Use

__all__ = ["MAX_DOCUMENT_BYTES", "PROBLEM_SCHEMA", "json_schema", "parse_problem", "problem_document", "read_problem"]

PROBLEM_SCHEMA = "warpwright.modulo-problem/1"
MAX_DOCUMENT_BYTES = 8 << 20

for _part in (ModuloUnit, ModuloMemory, Group, Use, ModuloOp, ModuloEdge, ModuloProblem):
    _part.__pydantic_config__ = {"extra": "forbid"}  # type: ignore[union-attr]

_PROBLEM = TypeAdapter(ModuloProblem)

_TEXT = ("modulo-wrong-type", "must be text of 1 to 200 characters")
_REFUSALS: Mapping[str, tuple[str, str]] = {
    "unexpected_keyword_argument": ("modulo-unknown-key", "is not a key of this object"),
    "missing": ("modulo-missing-key", "needs {key!r}"),
    "dataclass_type": ("modulo-wrong-type", "must be an object"),
    "dict_type": ("modulo-wrong-type", "must be an object"),
    "tuple_type": ("modulo-wrong-type", "must be a list"),
    "int_type": ("modulo-wrong-type", "must be a whole number"),
    "bool_type": ("modulo-wrong-type", "must be true or false"),
    "string_type": _TEXT,
    "string_too_short": _TEXT,
    "string_too_long": _TEXT,
    "string_unicode": _TEXT,
    "enum": ("modulo-out-of-range", "must be one of {expected}"),
    "greater_than_equal": ("modulo-out-of-range", "must be at least {ge}"),
    "less_than_equal": ("modulo-out-of-range", "must be at most {le}"),
    "too_short": ("modulo-out-of-range", "needs at least {min_length} entry"),
    "too_long": ("modulo-too-large", "has {actual_length} entries, more than {max_length}"),
}
"""Code and message by the kind of pydantic's error; the names in braces are filled with its numbers."""


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
    if not isinstance(document, dict):
        raise _refusal("modulo-wrong-type", "must be an object")
    if "schema" not in document:
        raise _refusal("modulo-missing-key", "needs 'schema'")
    if document.pop("schema") != PROBLEM_SCHEMA:
        raise _refusal("modulo-schema", f"must be {PROBLEM_SCHEMA!r}", "schema")
    try:
        problem = _PROBLEM.validate_python(document)
    except ValidationError as error:
        raise _first(error.errors(include_url=False)) from error
    _check_names(problem)
    _check_references(problem)
    return problem


def problem_document(problem: ModuloProblem) -> dict[str, Any]:
    """The problem in its JSON form; :func:`parse_problem` reads it back to an equal problem."""
    document: dict[str, Any] = {"schema": PROBLEM_SCHEMA, **_PROBLEM.dump_python(problem, mode="json", by_alias=True)}
    for op in document["ops"]:
        if not op["groups"]:
            del op["groups"]
    if not document["title"]:
        del document["title"]
    return document


def json_schema() -> dict[str, Any]:
    """The form as JSON Schema (2020-12). It cannot express that names are unique, or that they name existing parts."""
    schema = _PROBLEM.json_schema()
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": PROBLEM_SCHEMA,
        **schema,
        "title": "Generic modulo scheduling problem",
        "properties": {"schema": {"const": PROBLEM_SCHEMA}, **schema["properties"]},
        "required": ["schema", *schema["required"]],
    }


def _first(errors: Sequence[ErrorDetails]) -> DocumentError:
    """The first error; of a missing and an unknown key of one object the unknown one, which may be a misspelling."""
    found = errors[0]
    if found["type"] == "missing":
        here = (each for each in errors if each["loc"][:-1] == found["loc"][:-1])
        found = next((each for each in here if each["type"] == "unexpected_keyword_argument"), found)
    kind, path, value = found["type"], found["loc"], found["input"]
    if kind == "enum" and not (isinstance(value, str) and 0 < len(value) <= 200):
        kind = "string_type"
    code, message = _REFUSALS.get(kind, ("modulo-wrong-type", found["msg"]))
    words = {**found.get("ctx", {}), "key": path[-1] if path else ""}
    return _refusal(code, message.format(**words), *(path[:-1] if kind == "missing" else path))


def _check_names(problem: ModuloProblem) -> None:
    """Checks that parts of one kind have different names."""
    named = {
        "units": [unit.name for unit in problem.units],
        "memories": [memory.name for memory in problem.memories],
        "groups": [group.name for group in problem.groups],
        "ops": [op.id for op in problem.ops],
    }
    for part, names in named.items():
        seen: set[str] = set()
        for index, name in enumerate(names):
            if name in seen:
                raise _refusal("modulo-duplicate-id", f"repeats the name {name!r}", part, index)
            seen.add(name)


def _check_references(problem: ModuloProblem) -> None:
    """Checks that references name existing parts."""
    units, ops = {unit.name for unit in problem.units}, {op.id for op in problem.ops}
    memories, groups = {memory.name for memory in problem.memories}, {group.name for group in problem.groups}
    for index, op in enumerate(problem.ops):
        for number, use in enumerate(op.uses):
            _known(use.unit, units, "ops", index, "uses", number, "unit")
        for name, _ in op.memory:
            _known(name, memories, "ops", index, "memory", name)
        for number, name in enumerate(op.groups):
            _known(name, groups, "ops", index, "groups", number)
        if op.registers and not groups:
            message = "needs groups: registers are held by the threads of a group"
            raise _refusal("modulo-no-group", message, "ops", index, "registers")
    for index, edge in enumerate(problem.edges):
        _known(edge.source, ops, "edges", index, "from")
        _known(edge.target, ops, "edges", index, "to")


def _known(name: str, names: Collection[str], *path: str | int) -> None:
    if name not in names:
        raise _refusal("modulo-unknown-reference", f"names {name!r}, which the problem does not have", *path)


def _refusal(code: str, message: str, *path: str | int) -> DocumentError:
    place = "".join(f"/{part}" for part in path) or "/"
    return DocumentError(f"{place} {message}", code=code, place=place)


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("an object has the same key twice")
    return members
