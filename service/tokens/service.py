"""Creating and checking tokens. The secret is 256 random bits; only its SHA-256 is stored."""

import hashlib
import secrets
import threading
import time
from contextlib import suppress
from dataclasses import dataclass

from warpwright.service.db import DATABASE_AWAY, Database, DatabaseBusy, WriteSession
from warpwright.service.db.base import now
from warpwright.service.db.models import Token
from warpwright.service.errors import Unauthorized
from warpwright.service.names import token_id
from warpwright.service.tokens import repository
from warpwright.service.tokens.schemas import TokenScope

__all__ = ["ANONYMOUS", "Caller", "TokenCheck", "create"]

PREFIX = "ww_"
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


def create(session: WriteSession, name: str, scopes: list[TokenScope]) -> tuple[Token, str]:
    """A new token and its secret, which is not stored."""
    secret = PREFIX + secrets.token_urlsafe(32)
    token = Token(id=token_id(), name=name, hash=_hash(secret), scopes=sorted(set(scopes)), created_at=now())
    session.add(token)
    session.flush()
    return token, secret


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
        """The caller of a secret.

        Raises:
            Unauthorized: ``token-unknown``.
        """
        digest = _hash(secret)
        token = self._database.read(lambda session: repository.by_hash(session, digest))
        if token is None:
            raise Unauthorized("the token is unknown or was revoked", code="token-unknown")
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


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()
