"""Documents inside other JSON values: a schedule inside a candidate names its schema as it does alone.

``Annotated[Schedule, Embedded()]`` is the schedule in Python, and its document in JSON and in JSON schemas.
"""

from collections.abc import Callable
from typing import Any

from pydantic import Field, GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

__all__ = ["BESIDE", "SCHEMAS", "Embedded"]

SCHEMAS: dict[Any, str] = {}
"""The schema string of every document type, such as ``warpwright.pins/1``; ``warpwright.solver.domain.documents`` fills it."""

BESIDE = Field(exclude=True)
"""Marks a field that never goes into JSON: it is sent separately from the document."""


class Embedded:
    """Marks a field whose value is a document of its own."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """The value's own schema, with ``schema`` taken off on the way in and put on on the way out."""
        known = [SCHEMAS[member] for member in getattr(source, "__args__", (source,))]

        def read(value: Any, validate: Callable[[Any], Any]) -> Any:
            if not isinstance(value, dict):
                return validate(value)
            if value.get("schema") not in known:
                raise ValueError(f"expected schema {' or '.join(sorted(known))}, found {value.get('schema')!r}")
            return validate({name: part for name, part in value.items() if name != "schema"})

        def write(value: Any, dump: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
            return {"schema": SCHEMAS[type(value)], **dump(value)}

        inner = handler(source)
        serialization = core_schema.wrap_serializer_function_ser_schema(write, schema=inner)
        return core_schema.no_info_wrap_validator_function(read, inner, serialization=serialization)
