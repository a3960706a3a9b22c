"""Query parameters of every list."""

from typing import Annotated

from fastapi import Query

__all__ = ["DEFAULT_LIMIT", "Cursor", "Limit"]

DEFAULT_LIMIT = 50
MAX_LIMIT = 200

Limit = Annotated[int, Query(ge=1, le=MAX_LIMIT, description="Items on one page.")]
Cursor = Annotated[
    str | None, Query(max_length=400, description="`next` of the previous page; absent for the first page.")
]
