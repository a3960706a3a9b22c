"""Field types of request bodies that accept exactly what their JSON Schema says.

Pydantic would take ``true`` and ``"1"`` for the number 1, and ``"yes"`` for true; a client that sends those has a bug that it
should be told of, and the OpenAPI document would be wrong.
"""

from typing import Annotated, Any

from pydantic import BeforeValidator, StrictBool

__all__ = ["Flag", "Real", "Whole", "exactly_one"]


def _a_number(value: object) -> object:
    if isinstance(value, bool | str | bytes):
        raise ValueError("a JSON number is expected")
    return value


Whole = Annotated[int, BeforeValidator(_a_number)]
"""A JSON integer; ``5.0`` is one."""
Real = Annotated[float, BeforeValidator(_a_number)]
"""A JSON number."""
Flag = StrictBool
"""``true`` or ``false``."""


def exactly_one(*names: str) -> dict[str, Any]:
    """The part of a schema that says that one of these fields is given, and only one; null counts as not given."""
    given = [{"required": [name], "properties": {name: {"not": {"type": "null"}}}} for name in names]
    return {"oneOf": given}
