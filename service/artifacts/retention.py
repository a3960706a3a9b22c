"""Background removal of old artifacts and of workers without a heartbeat; once an hour, in whichever process comes first."""

import threading
from dataclasses import asdict
from datetime import timedelta

import structlog

from warpwright.service.artifacts.collect import collect
from warpwright.service.artifacts.store import ArtifactStore
from warpwright.service.db import Database
from warpwright.service.db.base import now
from warpwright.service.settings import Settings
from warpwright.service.workers import repository as worker_rows

__all__ = ["Retention"]

log = structlog.get_logger(__name__)

EVERY_SECONDS = 3600.0


class Retention:
    """A thread that collects; ``start`` and ``stop`` once each."""

    def __init__(self, database: Database, store: ArtifactStore, settings: Settings) -> None:
        self._database = database
        self._store = store
        self._keep = timedelta(days=settings.retention_days)
        self._keep_workers = timedelta(days=settings.worker_retention_days)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="retention", daemon=True)

    def start(self) -> None:
        """Start; the first collection comes after the first pause, so that it never slows the start down."""
        self._thread.start()

    def stop(self) -> None:
        """Stop, after a running collection has ended."""
        self._stopping.set()
        self._thread.join(timeout=10.0)

    def collect(self) -> None:
        """One collection."""
        removed = collect(self._database, self._store, self._keep)
        workers = self._database.write(lambda session: worker_rows.forget_silent(session, now() - self._keep_workers))
        log.info("collected", **asdict(removed), workers=workers)

    def _run(self) -> None:
        while not self._stopping.wait(EVERY_SECONDS):
            try:
                self.collect()
            except Exception:
                log.exception("collection-broke")
