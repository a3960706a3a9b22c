"""JSON documents of the domain: each names its schema and version, refuses unknown keys, and round-trips.

The dataclasses stay plain; Pydantic is used only here, where bytes enter and leave.
"""

import json
from collections.abc import Callable
from dataclasses import is_dataclass
from functools import cache
from typing import Any

from pydantic import ConfigDict, TypeAdapter, ValidationError

from warpwright.solver.domain import bound, candidate, identity, kernel, pins, profile, proof_scope, schedule, verdict
from warpwright.solver.domain.embedded import SCHEMAS
from warpwright.solver.domain.errors import DocumentError

__all__ = ["dump", "dumps", "load", "loads", "schema_of"]

SCHEMAS |= {
    kernel.KernelGraph: "warpwright.kernel-graph/1",
    pins.Pins: "warpwright.pins/1",
    profile.HardwareProfile: "warpwright.hardware-profile/1",
    schedule.WarpSchedule: "warpwright.warp-schedule/1",
    schedule.BufferSchedule: "warpwright.buffer-schedule/1",
    verdict.Certificate: "warpwright.certificate/1",
    verdict.ProvenOptimal: "warpwright.verdict/1",
    verdict.Feasible: "warpwright.verdict/1",
    verdict.Infeasible: "warpwright.verdict/1",
    verdict.Unknown: "warpwright.verdict/1",
    verdict.Verdict: "warpwright.verdict/1",
    verdict.Schedule: "warpwright.schedule/1",
    identity.Fingerprint: "warpwright.fingerprint/1",
    candidate.Candidate: "warpwright.candidate/1",
    candidate.Proposals: "warpwright.proposals/1",
}


def _named(kind: Any) -> Callable[[dict[str, Any]], None] | None:
    """Says in a document type's JSON schema that it names its schema; None for parts of documents."""
    name = SCHEMAS.get(kind)
    if name is None:
        return None

    def extend(schema: dict[str, Any]) -> None:
        schema["properties"] = {"schema": {"const": name, "type": "string"}, **schema["properties"]}
        schema["required"] = ["schema", *schema.get("required", ())]

    return extend


for _module in (bound, candidate, identity, kernel, pins, profile, proof_scope, schedule, verdict):
    for _value in vars(_module).values():
        if isinstance(_value, type) and is_dataclass(_value):
            _value.__pydantic_config__ = ConfigDict(extra="forbid", json_schema_extra=_named(_value))  # type: ignore[attr-defined]


@cache
def _adapter(document_type: Any) -> TypeAdapter[Any]:
    return TypeAdapter(document_type)


def schema_of(document_type: Any) -> str:
    """The schema string of a document type, such as ``warpwright.warp-schedule/1``."""
    return SCHEMAS[document_type]


def dump(document: Any) -> dict[str, Any]:
    """The document as JSON-ready values, ``schema`` first."""
    document_type: Any = type(document)
    adapter = _adapter(document_type)
    return {"schema": SCHEMAS[document_type], **adapter.dump_python(document, mode="json")}


def dumps(document: Any) -> str:
    """The document as canonical JSON text: sorted keys, no blanks, one form per value."""
    return json.dumps(dump(document), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def load(document_type: Any, data: Any) -> Any:
    """A document from JSON values.

    Raises:
        DocumentError: ``document-schema`` for another schema or version, ``document-invalid`` with the place otherwise.
    """
    if not isinstance(data, dict):
        raise DocumentError("a document must be a JSON object", code="document-invalid", place="/")
    expected, found = SCHEMAS[document_type], data.get("schema")
    if found != expected and found not in _accepted(document_type):
        raise DocumentError(f"expected schema {expected!r}, found {found!r}", code="document-schema", place="/schema")
    body = {key: value for key, value in data.items() if key != "schema"}
    try:
        return _adapter(document_type).validate_python(body)
    except ValidationError as error:
        first = error.errors()[0]
        place = "/" + "/".join(str(part) for part in first["loc"])
        raise DocumentError(f"{first['msg']} ({error.error_count()} in all)", place=place) from error


def loads(document_type: Any, text: str | bytes) -> Any:
    """As :func:`load`, from JSON text."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DocumentError(f"not JSON: {error}", code="document-not-json", place="/") from error
    return load(document_type, data)


def _accepted(document_type: Any) -> tuple[str, ...]:
    members = getattr(document_type, "__args__", ())
    # A tuple, since what was sent as the schema may be anything, a value without a hash included.
    return tuple(SCHEMAS[member] for member in members if member in SCHEMAS)
