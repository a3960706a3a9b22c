"""Queries over batches; a batch's state is always counted, never stored."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import func, select

from warpwright.service.db import ReadSession, WriteSession
from warpwright.service.db.models import Batch, BatchItem, Job
from warpwright.service.jobs.states import ENDED

__all__ = ["by_digest", "counts", "get", "items", "line_count", "locked", "only_here", "pace", "page", "progress"]


def get(session: ReadSession, batch_id: str) -> Batch | None:
    """The batch with this id."""
    return session.get(Batch, batch_id)


def by_digest(session: ReadSession, owner: str, digest: str) -> Batch | None:
    """The newest batch of an owner with this body that was not cancelled."""
    query = select(Batch).where(Batch.owner == owner, Batch.digest == digest, Batch.cancelled_at.is_(None))
    return session.scalars(query.order_by(Batch.id.desc()).limit(1)).first()


def page(session: ReadSession, limit: int, before: str | None) -> Sequence[Batch]:
    """Up to ``limit`` batches, newest first."""
    query = select(Batch).order_by(Batch.id.desc()).limit(limit)
    return session.scalars(query.where(Batch.id < before) if before is not None else query).all()


def line_count(session: ReadSession, batch_id: str) -> int:
    """How many lines a batch has."""
    return int(session.scalar(select(func.count()).where(BatchItem.batch_id == batch_id)))


def items(session: ReadSession, batch_id: str, limit: int, after: int) -> Sequence[BatchItem]:
    """Up to ``limit`` lines with a larger number."""
    query = select(BatchItem).where(BatchItem.batch_id == batch_id, BatchItem.line > after)
    return session.scalars(query.order_by(BatchItem.line).limit(limit)).all()


def counts(session: ReadSession, batch_id: str) -> dict[str, int]:
    """Number of lines by the state of their job; lines without a job count as ``refused``."""
    query = (
        select(Job.state, func.count())
        .select_from(BatchItem)
        .outerjoin(Job, Job.id == BatchItem.job_id)
        .where(BatchItem.batch_id == batch_id)
        .group_by(Job.state)
    )
    return {str(row[0] or "refused"): int(row[1]) for row in session.rows(query)}


def locked(session: WriteSession, batch_id: str) -> Batch:
    """An existing batch, its row locked and read again."""
    query = select(Batch).where(Batch.id == batch_id).with_for_update()
    return session.scalars(query.execution_options(populate_existing=True)).one()


def only_here(session: ReadSession, batch: Batch) -> Sequence[str]:
    """Ids of a batch's unfinished jobs that no other batch of its owner waits for."""
    mine = select(BatchItem.job_id).where(BatchItem.batch_id == batch.id)
    elsewhere = (
        select(BatchItem.line)
        .join(Batch, Batch.id == BatchItem.batch_id)
        .where(
            BatchItem.job_id == Job.id,
            Batch.id != batch.id,
            Batch.owner == batch.owner,
            Batch.cancelled_at.is_(None),
        )
        .exists()
    )
    query = select(Job.id).where(Job.id.in_(mine), Job.state.not_in(ENDED), ~elsewhere)
    return session.scalars(query.order_by(Job.id)).all()


def progress(session: ReadSession, batch_id: str) -> tuple[int, int, int]:
    """(jobs, candidates done, candidates to try) over a batch's different jobs."""
    mine = select(BatchItem.job_id).where(BatchItem.batch_id == batch_id)
    query = select(func.count(), func.coalesce(func.sum(Job.done), 0), func.coalesce(func.sum(Job.total), 0))
    ((jobs, done, total),) = session.rows(query.where(Job.id.in_(mine)))
    return jobs or 0, int(done or 0), int(total or 0)


def pace(session: ReadSession, batch_id: str) -> tuple[int, datetime | None, datetime | None]:
    """(ended jobs, first start, last end) of a batch."""
    mine = select(BatchItem.job_id).where(BatchItem.batch_id == batch_id)
    query = select(func.count(), func.min(Job.started_at), func.max(Job.ended_at))
    ((ended, first, last),) = session.rows(query.where(Job.id.in_(mine), Job.state.in_(ENDED)))
    return ended or 0, first, last
