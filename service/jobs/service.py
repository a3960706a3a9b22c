"""What clients may do with jobs besides submitting them."""

from sqlalchemy import update

from warpwright.service.app_context import Context
from warpwright.service.db import ReadSession, WriteSession
from warpwright.service.db.base import now
from warpwright.service.db.models import Interest, Job
from warpwright.service.errors import Forbidden, NotFound, StateConflict
from warpwright.service.jobs import repository, views
from warpwright.service.jobs.schemas import JobView
from warpwright.service.jobs.states import ENDED, JobState

__all__ = ["cancel", "delete", "find", "get"]


def find(session: ReadSession, job_id: str) -> Job:
    """The job's row.

    Raises:
        NotFound: ``job-unknown``.
    """
    job = repository.job(session, job_id)
    if job is None:
        raise NotFound(f"there is no job {job_id[:80]!r}", code="job-unknown")
    return job


def get(context: Context, job_id: str) -> JobView:
    """The job as clients see it."""
    return context.database.read(lambda session: views.view(session, find(session, job_id)))


def cancel(context: Context, job_id: str, *, owner: str, everyone: bool = False) -> JobView:
    """Withdraw the caller's interest; the job stops once nobody is interested any more.

    A queued job is cancelled at once. A running one is marked, and its runner stops the children within a second and
    writes what it found as a partial answer. Cancelling an ended job changes nothing.
    """

    def work(session: WriteSession) -> JobView:
        job = find(session, job_id)
        if job.state not in ENDED:
            mine = update(Interest).where(Interest.job_id == job_id, Interest.withdrawn_at.is_(None))
            session.execute((mine if everyone else mine.where(Interest.owner == owner)).values(withdrawn_at=now()))
            if repository.live_interests(session, job_id) == 0:
                request_cancel(session, job)
        return views.view(session, job)

    cancelled = context.database.write(work)
    if cancelled.cancel_requested:
        context.runner.cancel(job_id)
    context.bulletin.announce(job_id)
    return cancelled


def request_cancel(session: WriteSession, job: Job) -> None:
    """Mark a job for its runner, or end it at once if it is still queued."""
    moment = now()
    queued = (
        update(Job)
        .where(Job.id == job.id, Job.state == JobState.QUEUED)
        .values(
            state=JobState.CANCELLED, ended_at=moment, cancel_requested_at=moment, stopped_by="cancelled", partial=True
        )
        .returning(Job.id)
    )
    if session.execute(queued).first() is not None:
        data = {"state": JobState.CANCELLED.value, "best": None, "note": "", "partial": True, "error": None}
        repository.add_event(session, job.id, job.attempt, "state", data)
    else:
        running = update(Job).where(Job.id == job.id, Job.state.not_in(ENDED), Job.cancel_requested_at.is_(None))
        session.execute(running.values(cancel_requested_at=moment))
    session.refresh(job)


def delete(context: Context, job_id: str, *, owner: str, everyone: bool = False) -> None:
    """Remove an ended job and all its rows; its artifacts go with the next collection.

    Raises:
        Conflict: ``job-not-ended``.
        Forbidden: ``job-not-yours``; the caller is neither its owner nor may act for ``everyone``.
    """

    def work(session: WriteSession) -> None:
        job = find(session, job_id)
        if not everyone and job.owner != owner:
            raise Forbidden(
                "the job belongs to another token; its owner or an administrator may remove it", code="job-not-yours"
            )
        if job.state not in ENDED:
            raise StateConflict("cancel the job first", code="job-not-ended")
        session.delete(job)

    context.database.write(work)
