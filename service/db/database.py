"""The engine and its transactions.

SQLite: WAL, foreign keys on, and ``BEGIN IMMEDIATE`` for every write transaction. A transaction that starts as a reader and
writes later fails at once with "database is locked" whatever the busy timeout says; taking the write lock first makes the
timeout work. PostgreSQL: READ COMMITTED with row locks where the claims need them.

Write transactions that lose a lock or a serialisation race are run again as a whole, so they are given as functions.
"""

import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError, InterfaceError, InternalError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.orm import Session

from warpwright.service.db.session import ReadSession, WriteSession
from warpwright.service.errors import Unavailable

__all__ = ["DATABASE_AWAY", "Database", "DatabaseBusy"]

ResultT = TypeVar("ResultT")

BUSY_MILLISECONDS = 30_000
PATIENCE_SECONDS = 30.0
"""No new attempt of a transaction begins after this time."""
ATTEMPTS = 8
_RETRIED_SQLSTATES = frozenset({"40001", "40P01", "55P03"})
"""PostgreSQL: serialization_failure, deadlock_detected, lock_not_available."""


DATABASE_AWAY = (OperationalError, InterfaceError, InternalError, PoolTimeout)
"""What the database raises if it restarts, is full or read-only, or has no connection left: no request caused it."""


class DatabaseBusy(Unavailable):
    """The transaction lost its locks in every attempt."""

    code = "database-busy"


class Database:
    """One database, of either kind, for all threads of the process."""

    def __init__(self, url: str, *, pool_size: int = 8) -> None:
        self.url = make_url(url)
        self.is_sqlite = self.url.get_backend_name() == "sqlite"
        self.engine = _sqlite(url) if self.is_sqlite else _postgresql(url, pool_size)
        # SQLite's busy handler sleeps between attempts; threads of one process queue here instead and lose no time.
        self._writer = threading.Lock() if self.is_sqlite else None

    def write(self, work: Callable[[WriteSession], ResultT]) -> ResultT:
        """Run ``work`` in one write transaction and commit; roll back on any exception.

        ``work`` may run more than once and must have no effects outside the database.

        Raises:
            DatabaseBusy: eight attempts, or half a minute, did not get the locks.
        """
        until = time.monotonic() + PATIENCE_SECONDS
        for attempt in range(ATTEMPTS):
            try:
                with (
                    self._turn(until),
                    Session(self.engine.execution_options(write=True), expire_on_commit=False) as session,
                    session.begin(),
                ):
                    return work(WriteSession(session))
            except DBAPIError as error:
                if not _is_lock_race(error):
                    raise
                if time.monotonic() > until:
                    break
                time.sleep(random.uniform(0.0, 0.02 * 2**attempt))
        raise DatabaseBusy("the database is busy, try again")

    @contextmanager
    def _turn(self, until: float) -> Iterator[None]:
        """This thread's turn to write. Waiting is limited, so that the server does not run out of threads."""
        if self._writer is None:
            yield
            return
        if not self._writer.acquire(timeout=max(0.0, until - time.monotonic())):
            raise DatabaseBusy("the database is busy, try again")
        try:
            yield
        finally:
            self._writer.release()

    def read(self, work: Callable[[ReadSession], ResultT]) -> ResultT:
        """Run ``work`` in one read transaction, which never takes a write lock."""
        with self.reading() as session:
            return work(session)

    @contextmanager
    def reading(self) -> Iterator[ReadSession]:
        """A read session as a context; rolled back at the end, since there is nothing to commit."""
        with Session(self.engine, expire_on_commit=False, autoflush=False) as session:
            yield ReadSession(session)

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """A plain connection, for migrations and for the cached lookup."""
        with self.engine.connect() as connection:
            yield connection

    def ping(self) -> None:
        """Raise unless the database answers."""
        with self.engine.connect() as connection:
            connection.execute(text("SELECT 1"))

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()


def _sqlite(url: str) -> Engine:
    path = make_url(url).database
    if path and path != ":memory:":
        Path(path).parent.mkdir(parents=True, exist_ok=True)
    engine = create_engine(url, connect_args={"timeout": BUSY_MILLISECONDS / 1000, "check_same_thread": False})

    @event.listens_for(engine, "connect")
    def _on_connect(connection: Any, _record: object) -> None:
        # The driver's own implicit BEGIN would start deferred transactions; "begin" below starts them itself.
        connection.isolation_level = None
        cursor = connection.cursor()
        cursor.execute(f"PRAGMA busy_timeout={BUSY_MILLISECONDS}")
        cursor.execute("PRAGMA journal_mode=WAL")
        cursor.execute("PRAGMA synchronous=NORMAL")
        cursor.execute("PRAGMA foreign_keys=ON")
        cursor.close()

    @event.listens_for(engine, "begin")
    def _on_begin(connection: Connection) -> None:
        write = connection.get_execution_options().get("write", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")

    return engine


def _postgresql(url: str, pool_size: int) -> Engine:
    # A statement that waits for a lock for half a minute is an incident.
    options = "-c lock_timeout=30000 -c idle_in_transaction_session_timeout=120000"
    return create_engine(
        make_url(url).set(drivername="postgresql+psycopg"),
        pool_size=pool_size,
        max_overflow=pool_size * 2,
        pool_pre_ping=True,
        connect_args={"options": options},
    )


def _is_lock_race(error: DBAPIError) -> bool:
    sqlstate = getattr(error.orig, "sqlstate", None)
    if sqlstate is not None:
        return sqlstate in _RETRIED_SQLSTATES
    code = getattr(error.orig, "sqlite_errorname", "")
    return isinstance(error, OperationalError) and str(code).startswith(("SQLITE_BUSY", "SQLITE_LOCKED"))
