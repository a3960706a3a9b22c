"""Claims: which runner may work on which job, decided by single statements with row locks.

A claim increments the job's ``attempt``; every later write of a runner names its attempt, so writes of a runner that was
given up (paused machine, lost network) change nothing. A lease says when a silent runner is given up.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import and_, func, or_, select, update
from sqlalchemy.orm import aliased

from warpwright.service.db import ReadSession, WriteSession
from warpwright.service.db.base import now
from warpwright.service.db.models import Job, JobAttempt, Share
from warpwright.service.jobs import repository
from warpwright.service.jobs.states import RUNNING, JobState

__all__ = ["Claim", "LeaseLost", "blamed_attempts", "claim", "close_attempt", "held", "release", "renew"]


class LeaseLost(Exception):
    """The job belongs to another attempt now; the runner must stop and write nothing more."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A job that a runner holds."""

    job_id: str
    attempt: int
    owner: str


def claim(session: WriteSession, owner: str, lease: timedelta) -> Claim | None:
    """Take the next job: highest priority, then the least served owner, then the oldest; None if there is none.

    Jobs whose lease has expired are taken like queued ones, whoever held them. Rows that another transaction is
    claiming right now are skipped (``SKIP LOCKED``; SQLite has one writer anyway).
    """
    moment = now()
    share = aliased(Share)
    open_job = or_(Job.state == JobState.QUEUED, and_(Job.state.in_(RUNNING), Job.lease_expires_at < moment))
    candidate = (
        select(Job.id)
        .outerjoin(share, share.owner == Job.owner)
        .where(open_job)
        .order_by(Job.priority.desc(), func.coalesce(share.served, 0), Job.id)
        .limit(1)
        .with_for_update(skip_locked=True, of=Job)
    )
    taken = (
        update(Job)
        .where(Job.id == candidate.scalar_subquery(), open_job)
        .values(
            state=JobState.SOLVING,
            attempt=Job.attempt + 1,
            lease_owner=owner,
            lease_expires_at=moment + lease,
            started_at=func.coalesce(Job.started_at, moment),
            updated_at=moment,
        )
        .returning(Job.id, Job.attempt, Job.owner)
        .execution_options(synchronize_session=False)
    )
    row = session.execute(taken).one_or_none()
    if row is None:
        return None
    job_id, attempt, job_owner = row
    previous = update(JobAttempt).where(JobAttempt.job_id == job_id, JobAttempt.ended_at.is_(None))
    session.execute(previous.values(ended_at=moment, ending="lease-expired"))
    session.add(JobAttempt(job_id=job_id, attempt=attempt, owner=owner, started_at=moment))
    session.insert_missing(Share, [{"owner": job_owner, "served": 0}])
    session.execute(update(Share).where(Share.owner == job_owner).values(served=Share.served + 1))
    repository.add_event(session, job_id, attempt, "state", {"state": "solving", "attempt": attempt})
    return Claim(job_id, attempt, owner)


def held(session: WriteSession, claimed: Claim) -> Job:
    """The claimed job, its row locked; LeaseLost if another attempt has it or it has ended.

    All writes of a runner go through this check.
    """
    query = (
        select(Job)
        .where(
            Job.id == claimed.job_id,
            Job.attempt == claimed.attempt,
            Job.lease_owner == claimed.owner,
            Job.state.in_(RUNNING),
        )
        .with_for_update()
    )
    job = session.scalars(query).one_or_none()
    if job is None:
        raise LeaseLost(f"{claimed.job_id} attempt {claimed.attempt}")
    return job


def renew(session: WriteSession, owner: str, claims: Sequence[Claim], lease: timedelta) -> set[Claim]:
    """Renew the leases of a runner; returns the claims that it still holds."""
    kept: set[Claim] = set()
    for claimed in claims:
        renewed = (
            update(Job)
            .where(
                Job.id == claimed.job_id,
                Job.attempt == claimed.attempt,
                Job.lease_owner == owner,
                Job.state.in_(RUNNING),
            )
            .values(lease_expires_at=now() + lease)
            .returning(Job.id)
            .execution_options(synchronize_session=False)
        )
        if session.execute(renewed).first() is not None:
            kept.add(claimed)
    return kept


def release(session: WriteSession, claimed: Claim, ending: str) -> None:
    """Give a job back to the queue, after a shutdown or an infrastructure failure; its candidates stay."""
    job = held(session, claimed)
    job.state = JobState.QUEUED
    job.lease_owner = None
    job.lease_expires_at = None
    close_attempt(session, claimed, ending)
    repository.add_event(session, claimed.job_id, claimed.attempt, "state", {"state": "queued", "reason": ending})


def close_attempt(session: WriteSession, claimed: Claim, ending: str) -> None:
    """Record how an attempt ended."""
    mine = update(JobAttempt).where(JobAttempt.job_id == claimed.job_id, JobAttempt.attempt == claimed.attempt)
    session.execute(mine.values(ended_at=now(), ending=ending))


def blamed_attempts(session: ReadSession, claimed: Claim, blameless: Collection[str]) -> int:
    """How many earlier attempts ended in a way that the job may have caused."""
    earlier = (JobAttempt.job_id == claimed.job_id) & (JobAttempt.attempt < claimed.attempt)
    other = or_(JobAttempt.ending.is_(None), JobAttempt.ending.not_in(blameless))
    return int(session.scalar(select(func.count()).select_from(JobAttempt).where(earlier, other)))
