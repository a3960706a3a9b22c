"""Jobs, their variants, attempts and events; who asked for them; what is the same work."""

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, ForeignKey, Index, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from warpwright.service.db.base import Base, now

__all__ = [
    "IdempotencyKey",
    "Interest",
    "Job",
    "JobAttempt",
    "JobEvent",
    "JobSize",
    "JobVariant",
    "Share",
    "Work",
]


class Job(Base):
    """One tuning. ``id`` is ordered by time. ``attempt`` counts claims; writes of an older attempt are rejected."""

    __tablename__ = "jobs"
    __table_args__ = (
        Index("ix_jobs_state_priority_id", "state", "priority", "id"),
        Index("ix_jobs_owner_state", "owner", "state"),
        Index("ix_jobs_lease", "state", "lease_expires_at"),
    )

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    owner: Mapped[str] = mapped_column(String(40), default="")
    name: Mapped[str] = mapped_column(String(200), index=True)
    state: Mapped[str] = mapped_column(String(20))
    priority: Mapped[int] = mapped_column(default=0)
    work_digest: Mapped[str] = mapped_column(String(71), index=True)
    profile_digest: Mapped[str] = mapped_column(ForeignKey("profiles.digest"), index=True)
    request: Mapped[dict[str, Any]]
    """Pins, engine, seed, budget and measure flag; variants and profile have their own tables."""
    trace_id: Mapped[str] = mapped_column(String(64), default="")
    traceparent: Mapped[str] = mapped_column(String(55), default="")
    """The span of the request (W3C), empty if it was not traced: the job's own spans continue it."""
    created_at: Mapped[datetime] = mapped_column(default=now)
    updated_at: Mapped[datetime] = mapped_column(default=now, onupdate=now)
    started_at: Mapped[datetime | None]
    ended_at: Mapped[datetime | None] = mapped_column(index=True)
    attempt: Mapped[int] = mapped_column(default=0)
    lease_owner: Mapped[str | None] = mapped_column(String(120))
    lease_expires_at: Mapped[datetime | None]
    cancel_requested_at: Mapped[datetime | None]
    event_count: Mapped[int] = mapped_column(default=0)
    candidate_count: Mapped[int] = mapped_column(default=0)
    done: Mapped[int] = mapped_column(default=0)
    total: Mapped[int | None]
    ending: Mapped[str | None] = mapped_column(String(20))
    best: Mapped[str | None] = mapped_column(String(40))
    note: Mapped[str] = mapped_column(String(200), default="")
    partial: Mapped[bool] = mapped_column(default=False)
    stopped_by: Mapped[str] = mapped_column(String(40), default="")
    error: Mapped[dict[str, Any] | None]
    summary: Mapped[dict[str, Any] | None]
    """Everything that is not a candidate: variants, rejected structures with their conflicts, ties."""


class JobVariant(Base):
    """One variant of a job's kernel family; its IR is an artifact."""

    __tablename__ = "job_variants"

    job_id: Mapped[str] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    params: Mapped[dict[str, Any]]
    text_digest: Mapped[str] = mapped_column(ForeignKey("artifacts.digest"), index=True)
    ir_hash: Mapped[str | None] = mapped_column(String(100), index=True)


class JobSize(Base):
    """A variant at another size; its IR is an artifact. A winner of the variant is checked at this size before it is
    delivered.
    """

    __tablename__ = "job_sizes"

    job_id: Mapped[str] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True)
    variant: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    name: Mapped[str] = mapped_column(String(200))
    text_digest: Mapped[str] = mapped_column(ForeignKey("artifacts.digest"), index=True)


class JobAttempt(Base):
    """One claim of a job by a runner, and how it ended."""

    __tablename__ = "job_attempts"

    job_id: Mapped[str] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True)
    attempt: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    owner: Mapped[str] = mapped_column(String(120))
    started_at: Mapped[datetime] = mapped_column(default=now)
    ended_at: Mapped[datetime | None]
    ending: Mapped[str | None] = mapped_column(String(40))


class JobEvent(Base):
    """One event of a job; ``number`` counts from 1 without gaps and is the id of the server-sent event."""

    __tablename__ = "job_events"

    job_id: Mapped[str] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    attempt: Mapped[int]
    kind: Mapped[str] = mapped_column(String(40))
    data: Mapped[dict[str, Any]]
    at: Mapped[datetime] = mapped_column(default=now)


class IdempotencyKey(Base):
    """A client's key and the job that it created. The same key with another body is a conflict."""

    __tablename__ = "idempotency_keys"

    owner: Mapped[str] = mapped_column(String(40), primary_key=True)
    key: Mapped[str] = mapped_column(String(200), primary_key=True)
    body_digest: Mapped[str] = mapped_column(String(71))
    job_id: Mapped[str] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), index=True)
    created_at: Mapped[datetime] = mapped_column(default=now)


class Interest(Base):
    """A client that waits for a job. A shared job is cancelled when the last interest is withdrawn."""

    __tablename__ = "job_interests"

    job_id: Mapped[str] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True)
    owner: Mapped[str] = mapped_column(String(40), primary_key=True)
    created_at: Mapped[datetime] = mapped_column(default=now)
    withdrawn_at: Mapped[datetime | None]


class Work(Base):
    """Which job does, or did, a piece of work: identical requests share it."""

    __tablename__ = "work"

    digest: Mapped[str] = mapped_column(String(71), primary_key=True)
    job_id: Mapped[str] = mapped_column(Text)
    """No foreign key: the row is claimed before the job's row is written, in the same transaction."""


class Share(Base):
    """Fair share: how many of an owner's jobs were started. Within a priority, the owner with the fewest is next."""

    __tablename__ = "shares"

    owner: Mapped[str] = mapped_column(String(40), primary_key=True)
    served: Mapped[int] = mapped_column(BigInteger, default=0)
