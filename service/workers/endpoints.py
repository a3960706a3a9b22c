"""Workers over HTTP: their heartbeats, and draining by operators."""

from datetime import timedelta
from typing import Annotated

from fastapi import APIRouter, Path

from warpwright.service.app_context import ContextDep
from warpwright.service.db import WriteSession
from warpwright.service.db.base import now
from warpwright.service.db.models import Worker
from warpwright.service.errors import NotFound
from warpwright.service.health.metrics import ALIVE
from warpwright.service.page_parameters import DEFAULT_LIMIT, Cursor, Limit
from warpwright.service.pages import Page, decode_cursor, encode_cursor, page_of
from warpwright.service.strict_route import StrictRoute
from warpwright.service.tokens.access import AdminCaller, ReadCaller, WorkCaller
from warpwright.service.workers import repository
from warpwright.service.workers.schemas import WorkerReport, WorkerView

router = APIRouter(prefix="/v1/workers", tags=["workers"], route_class=StrictRoute)

WorkerName = Annotated[str, Path(min_length=1, max_length=120, pattern=r"^[A-Za-z0-9@._:-]+$")]


@router.get("", response_model=Page[WorkerView])
def list_workers(
    context: ContextDep, caller: ReadCaller, limit: Limit = DEFAULT_LIMIT, cursor: Cursor = None
) -> Page[WorkerView]:
    """Workers with capabilities, devices, health and last errors."""
    after = str(decode_cursor(cursor, str)[0]) if cursor is not None else None
    with context.database.reading() as session:
        rows, more = page_of(repository.page(session, limit + 1, after), limit)
        return Page(items=[_view(row) for row in rows], next=encode_cursor(rows[-1].id) if more else None)


@router.put("/{worker_id}", response_model=WorkerView)
def heartbeat(worker_id: WorkerName, body: WorkerReport, context: ContextDep, caller: WorkCaller) -> WorkerView:
    """A worker's heartbeat; the answer says whether it should take no new tasks (`draining`)."""
    report = body.model_dump(exclude={"uptime_seconds"})
    if body.uptime_seconds is not None:
        report["started_at"] = now() - timedelta(seconds=body.uptime_seconds)
    return context.database.write(lambda session: _view(repository.beat(session, worker_id, report)))


@router.post("/{worker_id}:drain", response_model=WorkerView)
def drain(worker_id: WorkerName, context: ContextDep, caller: AdminCaller, on: bool = True) -> WorkerView:
    """Let a worker finish its tasks and take no new ones; `on=false` resumes it."""

    def work(session: WriteSession) -> WorkerView:
        worker = repository.get(session, worker_id)
        if worker is None:
            raise NotFound(f"there is no worker {worker_id!r}", code="worker-unknown")
        worker.draining = on
        return _view(worker)

    return context.database.write(work)


def _view(row: Worker) -> WorkerView:
    return WorkerView(
        id=row.id,
        capabilities=row.capabilities,
        devices=row.devices,
        versions=row.versions,
        healthy=row.healthy,
        draining=row.draining,
        alive=now() - row.heartbeat_at < ALIVE,
        started_at=row.started_at,
        heartbeat_at=row.heartbeat_at,
        last_error=row.last_error,
        tasks_done=row.tasks_done,
    )
