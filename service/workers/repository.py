"""Rows of workers."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import select

from service.db import ReadSession, WriteSession
from service.db.base import now
from service.db.models import Worker

__all__ = ["beat", "get", "page"]


def get(session: ReadSession, worker_id: str) -> Worker | None:
    """The worker of this name."""
    return session.get(Worker, worker_id)


def page(session: ReadSession, limit: int, after: str | None) -> Sequence[Worker]:
    """Up to ``limit`` workers by name."""
    query = select(Worker).order_by(Worker.id).limit(limit)
    return session.scalars(query.where(Worker.id > after) if after is not None else query).all()


def beat(session: WriteSession, worker_id: str, report: Mapping[str, Any]) -> Worker:
    """Note a heartbeat with what the worker says of itself; an unknown worker becomes known."""
    session.insert_missing(
        Worker,
        [
            {
                "id": worker_id,
                "capabilities": [],
                "devices": [],
                "versions": {},
                "started_at": now(),
                "heartbeat_at": now(),
            }
        ],
    )
    worker = session.get(Worker, worker_id)
    assert worker is not None
    for name, value in report.items():
        setattr(worker, name, value)
    worker.heartbeat_at = now()
    return worker
