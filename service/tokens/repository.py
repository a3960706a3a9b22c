"""Rows of tokens."""

from collections.abc import Sequence

from sqlalchemy import ColumnElement, delete, exists, func, or_, select, update

from warpwright.service.db import ReadSession, WriteSession
from warpwright.service.db.base import now
from warpwright.service.db.models import LoginSession, Token

__all__ = [
    "active",
    "active_count",
    "all_tokens",
    "by_hash",
    "by_session",
    "end_session",
    "is_active",
    "revoke",
    "used",
]


def by_hash(session: ReadSession, digest: str) -> Token | None:
    """The active token with this hash."""
    return session.scalars(select(Token).where(Token.hash == digest, *_active())).one_or_none()


def by_session(session: ReadSession, digest: str) -> Token | None:
    """The active token of a browser's session that has not expired."""
    join = select(Token).join(LoginSession, LoginSession.token_id == Token.id)
    return session.scalars(
        join.where(LoginSession.hash == digest, LoginSession.expires_at > now(), *_active())
    ).one_or_none()


def is_active(session: ReadSession, token_id: str) -> bool:
    """Whether a caller's token is still accepted; always true for a caller without a token."""
    return not token_id or bool(session.scalar(select(exists().where(Token.id == token_id, *_active()))))


def active_count(session: ReadSession) -> int:
    """Number of active tokens."""
    return int(session.scalar(select(func.count()).select_from(Token).where(*_active())))


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


def active(session: ReadSession, token_id: str) -> Token | None:
    """The token with this id, if it is still accepted."""
    return session.scalars(select(Token).where(Token.id == token_id, *_active())).one_or_none()


def end_session(session: WriteSession, digest: str) -> None:
    """Forget a browser's session, and all that have expired."""
    over = or_(LoginSession.hash == digest, LoginSession.expires_at <= now())
    session.execute(delete(LoginSession).where(over))


def _active() -> tuple[ColumnElement[bool], ...]:
    return Token.revoked_at.is_(None), or_(Token.expires_at.is_(None), Token.expires_at > now())


def used(session: WriteSession, token_id: str) -> None:
    """Record that a token was used."""
    session.execute(update(Token).where(Token.id == token_id).values(last_used_at=now()))
