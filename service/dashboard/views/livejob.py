"""A job while it runs: what it does now, the best so far, how long it may take, and its last events in words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import func, select

from warpwright.service.candidates.sentences import proposed_line
from warpwright.service.dashboard.views.rows import JobRow, job_rows
from warpwright.service.db import ReadSession
from warpwright.service.db.models import CandidateRow, Job, JobEvent
from warpwright.service.jobs import service as jobs
from warpwright.solver.domain import Outcome

__all__ = ["LiveJob", "live_job", "live_rows", "rows_signature", "signature_of"]

SHOWN_EVENTS = 12


@dataclass(frozen=True, slots=True)
class LiveJob:
    """The present state of a job. ``left`` is an estimate in words, empty while there is nothing to estimate from."""

    job: Job
    row: JobRow
    doing: str
    best: CandidateRow | None
    left: str
    events: Sequence[tuple[datetime, str]]


def live_job(session: ReadSession, job_id: str) -> LiveJob:
    """A job's present state.

    Raises:
        NotFound: ``job-unknown``.
    """
    job = jobs.find(session, job_id)
    query = select(JobEvent).where(JobEvent.job_id == job_id).order_by(JobEvent.number.desc()).limit(SHOWN_EVENTS)
    events = session.scalars(query).all()
    return LiveJob(
        job=job,
        row=job_rows(session, [job])[0],
        doing=_doing(job, events),
        best=_best(session, job_id),
        left=_left(session, job),
        events=[(event.at, words) for event in events if (words := _words(event.kind, event.data))],
    )


def signature_of(session: ReadSession, job_id: str) -> str:
    """A short text that changes whenever the job does."""
    found = session.rows(select(Job.state, Job.event_count, Job.cancel_requested_at).where(Job.id == job_id))
    return f"{[tuple(row) for row in found]}"


def live_rows(session: ReadSession, job_ids: Sequence[str]) -> Sequence[JobRow]:
    """Rows of these jobs, those that still exist."""
    return job_rows(session, session.scalars(select(Job).where(Job.id.in_(list(job_ids)))).all())


def rows_signature(session: ReadSession, job_ids: Sequence[str]) -> str:
    """A short text that changes whenever one of these jobs does."""
    query = select(Job.id, Job.state, Job.event_count).where(Job.id.in_(list(job_ids))).order_by(Job.id)
    return f"{[tuple(row) for row in session.rows(query)]}"


def _doing(job: Job, events: Sequence[JobEvent]) -> str:
    if job.cancel_requested_at is not None:
        return "is being cancelled"
    latest = next((event for event in events if event.kind in ("step", "state")), None)
    if latest is not None and latest.kind == "step":
        return f"{latest.data.get('step')} of {latest.data.get('candidate')}"
    return {"queued": "waits for a free slot", "solving": "reads the kernel and searches schedules"}.get(
        job.state, job.state
    )


def _best(session: ReadSession, job_id: str) -> CandidateRow | None:
    """The fastest measured, else the best forecast among the built."""
    built = [outcome.value for outcome in (Outcome.MEASURED, Outcome.COMPILED, Outcome.SOLVED)]
    query = select(CandidateRow).where(CandidateRow.job_id == job_id, CandidateRow.outcome.in_(built))
    order = (
        CandidateRow.measured_ns.is_(None),
        CandidateRow.measured_ns,
        CandidateRow.forecast_ns,
        CandidateRow.number,
    )
    return next(iter(session.scalars(query.order_by(*order).limit(1)).all()), None)


def _left(session: ReadSession, job: Job) -> str:
    """At the rate since the phase began; the budget is said as the upper limit."""
    if job.started_at is None or job.ended_at is not None:
        return ""
    present = datetime.now(UTC)
    spent = (present - job.started_at).total_seconds()
    budget = float(job.request.get("budget", {}).get("wall_seconds") or 0.0)
    most = f"at most {_span(budget - spent)} by its budget" if budget > spent else ""
    in_phase = select(func.max(JobEvent.number)).where(JobEvent.job_id == job.id, JobEvent.kind == "state")
    began = session.scalar(in_phase) or 0
    ended = select(func.count(), func.min(JobEvent.at)).where(
        JobEvent.job_id == job.id, JobEvent.kind == "candidate", JobEvent.number > began
    )
    ((count, first),) = session.rows(ended)
    if not count or count < 2 or job.total is None or job.done >= job.total:
        return most
    seconds = (present - first).total_seconds() / (count - 1) * (job.total - job.done)
    return ", ".join(filter(None, (f"about {_span(seconds)} at this rate", most)))


def _words(kind: str, data: Mapping[str, Any]) -> str:
    match kind:
        case "state":
            return str(data.get("state", ""))
        case "variant":
            failure = data.get("failure")
            return f"variant {data.get('variant')} " + (f"refused: {failure.get('message')}" if failure else "read")
        case "proposed":
            return proposed_line(data)
        case "step":
            return f"{data.get('step')} of {data.get('candidate')}"
        case "candidate":
            message = f": {str(data['message']).splitlines()[0][:200]}" if data.get("message") else ""
            time = data.get("measured_ns")
            took = f", {time / 1000:,.2f} µs" if time else ""
            kind_words = str(data.get("kind", "")).replace("_", " ")
            return f"candidate {data.get('number')}, {kind_words}: {str(data.get('outcome')).replace('_', ' ')}{took}{message}"
        case _:
            return kind.replace("_", " ")


def _span(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
