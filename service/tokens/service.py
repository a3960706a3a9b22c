"""Creating and checking tokens. The secret is 256 random bits; only its SHA-256 is stored."""

import hashlib
import secrets
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

from warpwright.service.db import DATABASE_AWAY, Database, DatabaseBusy, WriteSession
from warpwright.service.db.base import now
from warpwright.service.db.models import LoginSession, Token
from warpwright.service.errors import Unauthorized
from warpwright.service.names import token_id
from warpwright.service.tokens import repository
from warpwright.service.tokens.schemas import TokenScope

__all__ = ["ANONYMOUS", "SESSION_PREFIX", "Caller", "TokenCheck", "create", "log_in", "log_out", "rotate"]

PREFIX = "ww_"
SESSION_PREFIX = "wws_"
"""Of a browser session's secret, which is no token: it is accepted from a cookie only."""
REMEMBER_SECONDS = 5.0
"""How long a process that has just checked a token may accept it after its revocation."""

_IMPLIED = {
    TokenScope.ADMIN: frozenset(TokenScope),
    TokenScope.TUNE: frozenset({TokenScope.TUNE, TokenScope.READ}),
    TokenScope.WORK: frozenset({TokenScope.WORK, TokenScope.READ}),
    TokenScope.READ: frozenset({TokenScope.READ}),
}


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller: a token's id, or empty on loopback."""

    id: str
    scopes: frozenset[TokenScope]


ANONYMOUS = Caller("", frozenset(TokenScope))
"""Any caller on this machine."""


def create(
    session: WriteSession, name: str, scopes: list[TokenScope], *, expires_at: datetime | None = None
) -> tuple[Token, str]:
    """A new token and its secret, which is not stored; without ``expires_at`` it is valid until it is revoked."""
    secret = PREFIX + secrets.token_urlsafe(32)
    token = Token(
        id=token_id(),
        name=name,
        hash=_hash(secret),
        scopes=sorted(set(scopes)),
        created_at=now(),
        expires_at=expires_at,
    )
    session.add(token)
    session.flush()
    return token, secret


def rotate(session: WriteSession, token_id: str, overlap: timedelta) -> tuple[Token, str] | None:
    """A token with the same name, scopes and period as one that stays valid for the overlap; None without such a token."""
    old = repository.active(session, token_id)
    if old is None:
        return None
    expires_at = None if old.expires_at is None else now() + (old.expires_at - old.created_at)
    old.expires_at = now() + overlap if old.expires_at is None else min(now() + overlap, old.expires_at)
    return create(session, old.name, [TokenScope(scope) for scope in old.scopes], expires_at=expires_at)


def log_in(session: WriteSession, token_id: str, lasts: timedelta) -> str:
    """The secret of a new browser session of a token."""
    secret = SESSION_PREFIX + secrets.token_urlsafe(32)
    session.add(LoginSession(hash=_hash(secret), token_id=token_id, created_at=now(), expires_at=now() + lasts))
    return secret


def log_out(session: WriteSession, secret: str) -> None:
    """End a browser session."""
    repository.end_session(session, _hash(secret))


class TokenCheck:
    """Checks secrets against the database, with a short memory so that a burst costs one query."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._seen: dict[str, tuple[float, Caller]] = {}

    def remembered(self, secret: str) -> Caller | None:
        """The caller, if this secret was checked a moment ago."""
        with self._lock:
            until, caller = self._seen.get(_hash(secret), (0.0, ANONYMOUS))
        return caller if time.monotonic() < until else None

    def check(self, secret: str) -> Caller:
        """The caller of a token's secret, or of a browser session's.

        Raises:
            Unauthorized: ``token-unknown``.
        """
        digest = _hash(secret)
        find = repository.by_session if secret.startswith(SESSION_PREFIX) else repository.by_hash
        token = self._database.read(lambda session: find(session, digest))
        if token is None:
            raise Unauthorized("the token is unknown, has expired or was revoked", code="token-unknown")
        scopes = frozenset(implied for scope in token.scopes for implied in _IMPLIED[TokenScope(scope)])
        caller = Caller(token.id, scopes)
        # Only informative, so a database that accepts no writes now still lets readers in.
        with suppress(*DATABASE_AWAY, DatabaseBusy):
            self._database.write(lambda session: repository.used(session, token.id))
        with self._lock:
            if len(self._seen) > 10_000:
                self._seen.clear()
            self._seen[digest] = (time.monotonic() + REMEMBER_SECONDS, caller)
        return caller

    def forget(self, secret: str) -> None:
        """Ask the database again at the next request: the session was ended."""
        with self._lock:
            self._seen.pop(_hash(secret), None)


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()
