"""Wire forms of tokens."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from warpwright.service.strict_types import Real

__all__ = ["NewToken", "TokenRequest", "TokenRotation", "TokenScope", "TokenView"]

MAX_DAYS = 3650


class TokenScope(StrEnum):
    """What a token allows. ``admin`` includes the others; ``tune`` and ``work`` include ``read``."""

    READ = "read"
    TUNE = "tune"
    WORK = "work"
    ADMIN = "admin"


class TokenRequest(BaseModel):
    """A token to create."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(min_length=1, max_length=100, description="Shown to people.")
    scopes: list[TokenScope] = Field(min_length=1, max_length=4)
    expires_in_days: Annotated[
        Real | None,
        Field(gt=0, le=MAX_DAYS, description="After that it is refused; absent: valid until it is revoked."),
    ] = None


class TokenRotation(BaseModel):
    """How a token is replaced by one with another secret."""

    model_config = ConfigDict(extra="forbid")

    overlap_seconds: Annotated[
        Real, Field(ge=0, le=MAX_DAYS * 86_400, description="How long the old secret is accepted beside the new one.")
    ] = 0.0


class TokenView(BaseModel):
    """A token without its secret."""

    model_config = ConfigDict(from_attributes=True)

    id: str
    name: str
    scopes: list[TokenScope]
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None
    last_used_at: datetime | None


class NewToken(TokenView):
    """A new token; the secret is shown only once."""

    secret: str
