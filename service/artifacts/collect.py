"""Retention: artifacts that nothing refers to are removed after a while, and so are leftovers of dead writers.

A row is deleted first, in a transaction that checks that nothing refers
to it, and then its file. A process that dies in between leaves a file without a row, which the next collection finds.
"""

import time
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import delete, select

from warpwright.service.artifacts import repository
from warpwright.service.artifacts.store import ArtifactStore
from warpwright.service.db import Database, WriteSession
from warpwright.service.db.base import now
from warpwright.service.db.models import Artifact

__all__ = ["Collected", "collect"]

CHUNK = 200
ORPHAN_SECONDS = 3600.0
"""A file younger than this may belong to a transaction that is not committed yet."""


@dataclass(frozen=True, slots=True)
class Collected:
    """What a collection removed."""

    artifacts: int
    orphans: int
    leftovers: int


def collect(
    database: Database, store: ArtifactStore, keep: timedelta, *, orphan_seconds: float = ORPHAN_SECONDS
) -> Collected:
    """Remove what nothing refers to and nobody used for ``keep``; safe while jobs and other collections run."""
    removed = 0
    while True:
        digests = database.write(lambda session: _forget(session, keep))
        for digest in digests:
            store.remove(digest)
        removed += len(digests)
        if len(digests) < CHUNK:
            break
    before = time.time() - orphan_seconds
    orphans = 0
    for digest, changed in list(store.digests()):
        if changed < before and database.read(lambda session, d=digest: repository.get(session, d)) is None:  # type: ignore[misc]
            store.remove(digest)
            orphans += 1
    leftovers = 0
    for path in list(store.leftovers()):
        if path.exists() and path.stat().st_mtime < before:
            path.unlink(missing_ok=True)
            leftovers += 1
    return Collected(removed, orphans, leftovers)


def _forget(session: WriteSession, keep: timedelta) -> list[str]:
    digests = list(repository.unreferenced(session, now() - keep, CHUNK))
    # Locked, then checked again: a job may have started to use one in between.
    still = set(session.scalars(select(Artifact.digest).where(Artifact.digest.in_(digests)).with_for_update()))
    free = [digest for digest in repository.unreferenced(session, now() - keep, CHUNK) if digest in still]
    session.execute(delete(Artifact).where(Artifact.digest.in_(free)))
    return free
