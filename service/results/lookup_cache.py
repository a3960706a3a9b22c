"""The cached lookup's fast path: one row by its key, sent as stored.

A build system asks thousands of times for stored results. The general path takes a thread, an ORM session and three queries;
this one takes a prepared statement on the event loop (SQLite: a reader never waits for a writer) or on a thread
(PostgreSQL). It answers exactly as the general path would, or leaves the request to it.
"""

import json
from collections import OrderedDict
from dataclasses import asdict

from fastapi.concurrency import run_in_threadpool
from sqlalchemy import PoolProxiedConnection, text

from warpwright.service.app_context import Context
from warpwright.service.results.schemas import LookupRequest
from warpwright.service.results.service import EMPTY_PINS
from warpwright.solver.domain import Fingerprint, digest_text
from warpwright.solver.profiles import builtin_profile, builtin_profiles

__all__ = ["HotLookup"]

REMEMBERED = 4096
SQLITE_QUERY = "SELECT answer, measured FROM results WHERE key = ?"
QUERY = text("SELECT answer, measured FROM results WHERE key = :key")


class HotLookup:
    """One per process. Remembers which kernel a text is (that never changes) and nothing that could become wrong."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._hashes: OrderedDict[str, str] = OrderedDict()
        self._connection: PoolProxiedConnection | None = None

    async def answer(self, request: LookupRequest) -> bytes | None:
        """The complete answer's bytes; None if the general path has to decide."""
        fingerprint = self._fingerprint(request)
        if fingerprint is None:
            return None
        if self._context.database.is_sqlite:
            row = self._row(fingerprint.key())
        else:
            row = await run_in_threadpool(self._pooled_row, fingerprint.key())
        if row is None or (request.measured_only and not row[1]):
            return None
        head = json.dumps(
            {"found": True, "relaxed": [], "reason": "", "fingerprint": asdict(fingerprint), "nearest": []}
        )
        return f'{head[:-1]}, "result": {row[0]}}}'.encode()

    def learn(self, ir: str, ir_hash: str) -> None:
        """Remember which kernel a text is."""
        self._hashes[digest_text(ir)] = ir_hash
        while len(self._hashes) > REMEMBERED:
            self._hashes.popitem(last=False)

    def close(self) -> None:
        """Give the connection back."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _fingerprint(self, request: LookupRequest) -> Fingerprint | None:
        if request.pins is not None or request.variants is not None or request.build_options:
            return None
        if not isinstance(request.profile, str):
            return None
        if request.profile not in builtin_profiles():
            return None
        if (request.ir is None) == (request.ir_hash is None):
            return None
        ir_hash = request.ir_hash or self._hashes.get(digest_text(request.ir or ""))
        if ir_hash is None:
            return None
        profile = builtin_profile(request.profile)
        identity = self._context.toolchain.identity(profile)
        return Fingerprint(
            ir=ir_hash,
            profile=profile.digest,
            toolchain=request.toolchain or identity.toolchain,
            constraint_set=identity.constraint_set,
            protocol=request.protocol or identity.protocol,
            verification=identity.verification,
            pins=EMPTY_PINS,
        )

    def _row(self, key: str) -> tuple[str, bool] | None:
        if self._connection is None:
            # The driver's own connection: outside a transaction every query sees what is committed by then, and no old
            # snapshot keeps the log from shrinking.
            self._connection = self._context.database.engine.raw_connection()
        cursor = self._connection.driver_connection.execute(SQLITE_QUERY, (key,))  # type: ignore[union-attr]  # sqlite3's
        row = cursor.fetchone()
        return (row[0], bool(row[1])) if row is not None else None

    def _pooled_row(self, key: str) -> tuple[str, bool] | None:
        with self._context.database.connection() as connection:
            row = connection.execute(QUERY, {"key": key}).one_or_none()
            return (row[0], bool(row[1])) if row is not None else None
