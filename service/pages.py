"""Cursor pages. A cursor is opaque to clients: the last row's key, base64url, checked when it is sent back."""

import base64
import binascii
import json
from collections.abc import Sequence
from typing import Generic, TypeVar

from pydantic import BaseModel, Field

from warpwright.service.errors import BadRequest
from warpwright.service.strict_json import is_storable

__all__ = ["Page", "decode_cursor", "encode_cursor", "page_of"]

ItemT = TypeVar("ItemT")


class Page(BaseModel, Generic[ItemT]):
    """One page of a list."""

    items: list[ItemT]
    next: str | None = Field(None, description="Cursor of the next page; null on the last one.")


def encode_cursor(*key: str | int | float | None) -> str:
    """The cursor after a row with this sort key."""
    return base64.urlsafe_b64encode(json.dumps(key).encode()).decode().rstrip("=")


def decode_cursor(cursor: str, *types: type) -> tuple[str | int | float, ...]:
    """The sort key in a cursor; BadRequest ``cursor-invalid`` if it did not come from this service."""
    try:
        key = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except (binascii.Error, ValueError, RecursionError) as error:
        raise BadRequest("the cursor is not valid", code="cursor-invalid", place="/query/cursor") from error
    fits = isinstance(key, list) and len(key) == len(types)
    if not fits or not all(type(part) is kind for part, kind in zip(key, types, strict=True)):
        raise BadRequest("the cursor is not valid", code="cursor-invalid", place="/query/cursor")
    if any(not is_storable(part) if isinstance(part, str) else abs(part) > 2**53 for part in key):
        raise BadRequest("the cursor is not valid", code="cursor-invalid", place="/query/cursor")
    return tuple(key)


def page_of(rows: Sequence[ItemT], limit: int) -> tuple[Sequence[ItemT], bool]:
    """The rows of this page out of ``limit + 1`` fetched ones, and whether there are more."""
    return rows[:limit], len(rows) > limit
