"""The collection as a background duty: once an hour, in whichever process gets to it."""

import threading
from datetime import timedelta

import structlog

from service.artifacts.collect import collect
from service.artifacts.store import ArtifactStore
from service.db import Database

__all__ = ["Retention"]

log = structlog.get_logger(__name__)

EVERY_SECONDS = 3600.0


class Retention:
    """A thread that collects; ``start`` and ``stop`` once each."""

    def __init__(self, database: Database, store: ArtifactStore, days: float) -> None:
        self._database = database
        self._store = store
        self._keep = timedelta(days=days)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="retention", daemon=True)

    def start(self) -> None:
        """Begin; the first collection comes after the first pause, so that a start is never slowed by it."""
        self._thread.start()

    def stop(self) -> None:
        """End after the collection that may be running."""
        self._stopping.set()
        self._thread.join(timeout=10.0)

    def _run(self) -> None:
        while not self._stopping.wait(EVERY_SECONDS):
            try:
                removed = collect(self._database, self._store, self._keep)
                log.info("collected", artifacts=removed.artifacts, orphans=removed.orphans, leftovers=removed.leftovers)
            except Exception:
                log.exception("collection-broke")
