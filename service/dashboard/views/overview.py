"""The first page: running jobs, recent jobs, the age of the queue, and workers."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy import func, select

from warpwright.service.dashboard.views.rows import JobRow, job_rows
from warpwright.service.db import ReadSession
from warpwright.service.db.models import Job, Worker
from warpwright.service.jobs.states import RUNNING, JobState

__all__ = ["Overview", "overview", "signature"]

SHOWN_JOBS = 15
SILENT = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class Overview:
    """Counts of the last day, active jobs, recent jobs, workers (those without a recent heartbeat are marked)."""

    counts: dict[str, int]
    queued: int
    running: int
    queue_age_seconds: float
    active: Sequence[JobRow]
    recent: Sequence[JobRow]
    workers: Sequence[Worker]
    silent: frozenset[str]


def overview(session: ReadSession) -> Overview:
    """The overview's present content."""
    present = datetime.now(UTC)
    states = dict(
        session.rows(
            select(Job.state, func.count()).where(Job.state.in_((JobState.QUEUED, *RUNNING))).group_by(Job.state)
        )
    )
    ended = dict(
        session.rows(
            select(Job.state, func.count()).where(Job.ended_at >= present - timedelta(days=1)).group_by(Job.state)
        )
    )
    oldest = session.scalar(select(func.min(Job.created_at)).where(Job.state == JobState.QUEUED))
    active = session.scalars(
        select(Job).where(Job.state.in_((*RUNNING, JobState.QUEUED))).order_by(Job.id).limit(SHOWN_JOBS)
    ).all()
    recent = session.scalars(
        select(Job).where(Job.ended_at.is_not(None)).order_by(Job.ended_at.desc()).limit(SHOWN_JOBS)
    ).all()
    workers = session.scalars(select(Worker).order_by(Worker.id).limit(50)).all()
    rows = {row.id: row for row in job_rows(session, [*active, *recent])}
    return Overview(
        counts={str(state): count for state, count in ended.items()},
        queued=states.get(JobState.QUEUED, 0),
        running=sum(count for state, count in states.items() if state != JobState.QUEUED),
        queue_age_seconds=(present - oldest).total_seconds() if oldest else 0.0,
        active=[rows[job.id] for job in active],
        recent=[rows[job.id] for job in recent],
        workers=workers,
        silent=frozenset(worker.id for worker in workers if present - worker.heartbeat_at > SILENT),
    )


def signature(session: ReadSession) -> str:
    """A short text that changes whenever the overview does; two index look-ups, so that it can be computed every second."""
    newest = session.scalar(select(func.max(Job.id)))
    ended = session.scalar(select(func.max(Job.ended_at)))
    active = session.rows(
        select(Job.id, Job.state, Job.done, Job.event_count)
        .where(Job.state.in_((*RUNNING, JobState.QUEUED)))
        .order_by(Job.id)
        .limit(SHOWN_JOBS)
    )
    beat = session.scalar(select(func.count()).select_from(Worker))
    return f"{newest} {ended} {beat} {[tuple(row) for row in active]}"
