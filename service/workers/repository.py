"""Rows of workers."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import delete, select, update

from warpwright.service.db import ReadSession, WriteSession
from warpwright.service.db.base import now
from warpwright.service.db.models import Worker

__all__ = ["beat", "forget_silent", "get", "page"]


def get(session: ReadSession, worker_id: str) -> Worker | None:
    """The worker with this name."""
    return session.get(Worker, worker_id)


def page(session: ReadSession, limit: int, after: str | None) -> Sequence[Worker]:
    """Up to ``limit`` workers by name."""
    query = select(Worker).order_by(Worker.id).limit(limit)
    return session.scalars(query.where(Worker.id > after) if after is not None else query).all()


def beat(session: WriteSession, worker_id: str, report: Mapping[str, Any]) -> Worker:
    """Record a heartbeat with the worker's report (columns); an unknown worker is added."""
    told = {**report, "heartbeat_at": now()}
    # The update first: it locks the row against the retention, which may be about to remove it.
    known = session.execute(update(Worker).where(Worker.id == worker_id).values(told).returning(Worker.id)).first()
    if known is None:
        session.insert_missing(Worker, [{"id": worker_id, "started_at": now(), **told}])
    worker = session.get(Worker, worker_id)
    assert worker is not None
    return worker


def forget_silent(session: WriteSession, before: datetime) -> int:
    """Remove workers without a heartbeat since ``before``, and return how many; drained ones stay drained, so they are kept."""
    silent = delete(Worker).where(Worker.heartbeat_at < before, Worker.draining.is_(False))
    return len(session.execute(silent.returning(Worker.id)).all())
