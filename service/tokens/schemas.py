"""Wire forms of tokens."""

from datetime import datetime
from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["NewToken", "TokenRequest", "TokenScope", "TokenView"]


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


class TokenView(BaseModel):
    """A token without its secret."""

    model_config = ConfigDict(from_attributes=True)

    id: str
    name: str
    scopes: list[TokenScope]
    created_at: datetime
    revoked_at: datetime | None
    last_used_at: datetime | None


class NewToken(TokenView):
    """A new token; the secret is shown only once."""

    secret: str
