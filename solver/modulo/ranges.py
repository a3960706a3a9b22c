"""The types of a problem's numbers and names, with the ranges that a document may have. They are checked on reading only.

Ranges keep sums of products within 63-bit integers and the sizes within what a search can take.
"""

from typing import Annotated, Any

from pydantic import Field, GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

__all__ = [
    "Amount",
    "Capacity",
    "Count",
    "Cycles",
    "Distance",
    "Flag",
    "Holdings",
    "Name",
    "Registers",
    "Stages",
    "Warps",
]

MAX_AMOUNT = 1 << 42

Name = Annotated[str, Field(strict=True, min_length=1, max_length=200)]
Flag = Annotated[bool, Field(strict=True)]
Cycles = Annotated[int, Field(strict=True, ge=0, le=1_000_000)]
Capacity = Annotated[int, Field(strict=True, ge=1, le=MAX_AMOUNT)]
Count = Annotated[int, Field(strict=True, ge=1, le=MAX_AMOUNT)]
Amount = Annotated[int, Field(strict=True, ge=0, le=MAX_AMOUNT)]
Warps = Annotated[int, Field(strict=True, ge=1, le=64)]
Registers = Annotated[int, Field(strict=True, ge=0, le=65_536)]
Stages = Annotated[int, Field(strict=True, ge=1, le=64)]
Distance = Annotated[int, Field(strict=True, ge=0, le=64)]


class _AsObject:
    """Pairs of a name and an amount, which a document writes as the members of an object."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        members = core_schema.dict_schema(core_schema.str_schema(strict=True), handler.generate_schema(Amount))
        return core_schema.no_info_after_validator_function(
            lambda held: tuple(held.items()),
            members,
            serialization=core_schema.plain_serializer_function_ser_schema(dict),
        )


Holdings = Annotated[tuple[tuple[str, int], ...], _AsObject()]
