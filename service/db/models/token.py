"""Access tokens: only a hash is stored."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from warpwright.service.db.base import Base, now

__all__ = ["LoginSession", "Token"]


class Token(Base):
    """One token. ``hash`` is SHA-256 of 256 random bits, which needs no salt and no slow hash."""

    __tablename__ = "tokens"

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    name: Mapped[str] = mapped_column(String(100))
    hash: Mapped[str] = mapped_column(String(64), unique=True)
    scopes: Mapped[list[Any]]
    created_at: Mapped[datetime] = mapped_column(default=now)
    expires_at: Mapped[datetime | None]
    revoked_at: Mapped[datetime | None]
    last_used_at: Mapped[datetime | None]


class LoginSession(Base):
    """One browser that showed a token. Its cookie has a secret of its own: what a browser keeps is not the token."""

    __tablename__ = "login_sessions"

    hash: Mapped[str] = mapped_column(String(64), primary_key=True)
    token_id: Mapped[str] = mapped_column(ForeignKey("tokens.id", ondelete="CASCADE"), index=True)
    created_at: Mapped[datetime] = mapped_column(default=now)
    expires_at: Mapped[datetime]
