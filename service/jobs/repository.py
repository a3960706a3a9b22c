"""Queries over jobs, their variants, events, attempts, and who waits for them."""

from collections.abc import Mapping, Sequence

from sqlalchemy import Select, func, or_, select, update

from warpwright.service.db import ReadSession, WriteSession
from warpwright.service.db.base import now
from warpwright.service.db.models import Interest, Job, JobAttempt, JobEvent, JobSize, JobVariant, Profile, Share, Work
from warpwright.service.jobs.states import ACTIVE, RUNNING

__all__ = [
    "active_count",
    "add_event",
    "attempts",
    "events_after",
    "interest",
    "job",
    "level_share",
    "live_interests",
    "page",
    "profile_names",
    "running_of",
    "sizes",
    "variants",
    "work_job",
]


def job(session: ReadSession, job_id: str) -> Job | None:
    """The job with this id."""
    return session.get(Job, job_id)


def variants(session: ReadSession, job_id: str) -> Sequence[JobVariant]:
    """A job's variants in order."""
    return session.scalars(select(JobVariant).where(JobVariant.job_id == job_id).order_by(JobVariant.number)).all()


def sizes(session: ReadSession, job_id: str) -> dict[int, list[JobSize]]:
    """The other sizes of a job's variants in order, by variant."""
    found: dict[int, list[JobSize]] = {}
    query = select(JobSize).where(JobSize.job_id == job_id).order_by(JobSize.variant, JobSize.number)
    for row in session.scalars(query):
        found.setdefault(row.variant, []).append(row)
    return found


def attempts(session: ReadSession, job_id: str) -> Sequence[JobAttempt]:
    """A job's attempts in order."""
    return session.scalars(select(JobAttempt).where(JobAttempt.job_id == job_id).order_by(JobAttempt.attempt)).all()


def events_after(session: ReadSession, job_id: str, number: int, limit: int) -> Sequence[JobEvent]:
    """Events with a larger number, oldest first."""
    query = (
        select(JobEvent)
        .where(JobEvent.job_id == job_id, JobEvent.number > number)
        .order_by(JobEvent.number)
        .limit(limit)
    )
    return session.scalars(query).all()


def page(
    session: ReadSession,
    limit: int,
    *,
    before: str | None = None,
    states: Sequence[str] = (),
    name: str | None = None,
    profile: str | None = None,
    owner: str | None = None,
    batch_jobs: Select[str] | None = None,
) -> Sequence[Job]:
    """Up to ``limit`` jobs, newest first, older than ``before``."""
    query = select(Job).order_by(Job.id.desc()).limit(limit)
    if before is not None:
        query = query.where(Job.id < before)
    if states:
        query = query.where(Job.state.in_(states))
    if name is not None:
        query = query.where(Job.name == name)
    if profile is not None:
        named = select(Profile.digest).where(or_(Profile.name == profile, Profile.digest == profile))
        query = query.where(Job.profile_digest.in_(named))
    if owner is not None:
        query = query.where(Job.owner == owner)
    if batch_jobs is not None:
        query = query.where(Job.id.in_(batch_jobs))
    return session.scalars(query).all()


def profile_names(session: ReadSession, digests: Sequence[str]) -> dict[str, str]:
    """Names of profiles by digest."""
    rows = session.rows(select(Profile.digest, Profile.name).where(Profile.digest.in_(sorted(set(digests)))))
    return {row.digest: row.name for row in rows}


def active_count(session: ReadSession, owner: str) -> int:
    """Jobs of an owner that have not ended."""
    return int(session.scalar(select(func.count()).where(Job.owner == owner, Job.state.in_(ACTIVE))))


def add_event(session: WriteSession, job_id: str, attempt: int, kind: str, data: Mapping[str, object]) -> int:
    """Append an event under the next number; the job's row is locked by the count until the transaction ends."""
    counted = (
        update(Job)
        .where(Job.id == job_id)
        .values(event_count=Job.event_count + 1, updated_at=now())
        .returning(Job.event_count)
        .execution_options(synchronize_session=False)
    )
    number = int(session.execute(counted).scalar_one())
    session.add(JobEvent(job_id=job_id, number=number, attempt=attempt, kind=kind, data=dict(data)))
    return number


def work_job(session: WriteSession, digest: str, job_id: str) -> str:
    """Claim a piece of work for a job; returns the id of the job that has it, another one if that was first."""
    if session.insert_missing(Work, [{"digest": digest, "job_id": job_id}]):
        return job_id
    return str(session.scalar(select(Work.job_id).where(Work.digest == digest).with_for_update()))


def interest(session: WriteSession, job_id: str, owner: str) -> None:
    """Record that an owner waits for a job (again)."""
    if not session.insert_missing(Interest, [{"job_id": job_id, "owner": owner, "created_at": now()}]):
        session.execute(
            update(Interest).where(Interest.job_id == job_id, Interest.owner == owner).values(withdrawn_at=None)
        )


def live_interests(session: WriteSession, job_id: str) -> int:
    """How many owners still wait for a job."""
    query = select(func.count()).where(Interest.job_id == job_id, Interest.withdrawn_at.is_(None))
    return int(session.scalar(query))


def level_share(session: WriteSession, owner: str) -> None:
    """An owner without work in the queue starts at the level of the least served owner who has some.

    Otherwise an owner who submitted nothing for a week would get the machine for a week.
    """
    least = session.scalar(
        select(func.min(Share.served)).where(
            Share.owner.in_(select(Job.owner).where(Job.state.in_(ACTIVE)).distinct()), Share.owner != owner
        )
    )
    level = int(least or 0)
    if session.insert_missing(Share, [{"owner": owner, "served": level}]):
        return
    idle = ~select(Job.id).where(Job.owner == owner, Job.state.in_(ACTIVE)).exists()
    session.execute(update(Share).where(Share.owner == owner, Share.served < level, idle).values(served=level))


def running_of(session: ReadSession, owner: str) -> Sequence[tuple[str, int, bool]]:
    """(id, attempt, cancel requested) of the jobs that a runner holds."""
    rows = session.rows(
        select(Job.id, Job.attempt, Job.cancel_requested_at).where(Job.lease_owner == owner, Job.state.in_(RUNNING))
    )
    return [(job_id, attempt, requested is not None) for job_id, attempt, requested in rows]
