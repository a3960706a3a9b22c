"""JSON that is passed on as it was recorded, and described in OpenAPI by the types of those who recorded it.

Rows of earlier versions may lack fields and have others, so nothing is validated on the way out, and a client
needs none of the types.
"""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import GetJsonSchemaHandler, TypeAdapter
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from warpwright.solver.domain import Certificate, HardwareProfile, Pins, Schedule
from warpwright.solver.domain.embedded import Embedded

__all__ = [
    "SERVERS_TYPES",
    "BuildReportJson",
    "CertificateDocument",
    "MeasurementJson",
    "PinsDocument",
    "PinsJson",
    "ProfileJson",
    "ScheduleDocument",
]


SERVERS_TYPES: dict[str, Any] = {}
"""Types by name that only who writes the OpenAPI document has; ``recorded_types`` fills it."""


class _Described:
    """Marks JSON that stays JSON: its schema is that of a domain value, or of a type that a server describes by name."""

    def __init__(self, kind: type | str) -> None:
        self._kind = kind

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        kind: Any = SERVERS_TYPES[self._kind] if isinstance(self._kind, str) else self._kind
        # Inside `definitions` it becomes a component of its own, wherever it is used.
        return handler(core_schema.definitions_schema(TypeAdapter(kind).core_schema, []))


ScheduleDocument = Annotated[Schedule, Embedded()]
CertificateDocument = Annotated[Certificate, Embedded()]
PinsDocument = Annotated[Pins, Embedded()]
PinsJson = Annotated[dict[str, Any], _Described(Pins)]
"""Pins of a request: read by the service itself, whose errors name the place."""
ProfileJson = Annotated[dict[str, Any], _Described(HardwareProfile)]
MeasurementJson = Annotated[Mapping[str, object], _Described("Measurement")]
BuildReportJson = Annotated[Mapping[str, object], _Described("BuildReport")]
