"""Rows of tokens."""

from collections.abc import Sequence

from sqlalchemy import exists, func, select, update

from warpwright.service.db import ReadSession, WriteSession
from warpwright.service.db.base import now
from warpwright.service.db.models import Token

__all__ = ["active_count", "all_tokens", "by_hash", "is_active", "revoke", "used"]


def by_hash(session: ReadSession, digest: str) -> Token | None:
    """The active token with this hash."""
    return session.scalars(select(Token).where(Token.hash == digest, Token.revoked_at.is_(None))).one_or_none()


def is_active(session: ReadSession, token_id: str) -> bool:
    """Whether a caller's token is still accepted; always true for a caller without a token."""
    return not token_id or bool(
        session.scalar(select(exists().where(Token.id == token_id, Token.revoked_at.is_(None))))
    )


def active_count(session: ReadSession) -> int:
    """Number of active tokens."""
    return int(session.scalar(select(func.count()).select_from(Token).where(Token.revoked_at.is_(None))))


def all_tokens(session: ReadSession, limit: int, after: str | None = None) -> Sequence[Token]:
    """Tokens by id, revoked ones included."""
    query = select(Token).order_by(Token.id).limit(limit)
    if after is not None:
        query = query.where(Token.id > after)
    return session.scalars(query).all()


def revoke(session: WriteSession, token_id: str) -> bool:
    """Revoke a token; returns whether there was an active one."""
    revoked = update(Token).where(Token.id == token_id, Token.revoked_at.is_(None)).values(revoked_at=now())
    return bool(session.execute(revoked.returning(Token.id)).first())


def used(session: WriteSession, token_id: str) -> None:
    """Record that a token was used."""
    session.execute(update(Token).where(Token.id == token_id).values(last_used_at=now()))
