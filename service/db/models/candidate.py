"""Candidates: each with its outcome and its own fingerprint columns."""

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, ForeignKey, ForeignKeyConstraint, Index, String
from sqlalchemy.orm import Mapped, mapped_column

from warpwright.service.db.base import Base, now

__all__ = ["CandidateArtifact", "CandidateRow"]


class CandidateRow(Base):
    """One candidate of one job. ``key`` is derived from the content, so a second attempt writes the same row."""

    __tablename__ = "candidates"
    __table_args__ = (
        Index("ix_candidates_job_number", "job_id", "number", unique=True),
        Index("ix_candidates_key", "key", "toolchain"),
        Index("ix_candidates_identity", "ir_hash", "profile"),
    )

    job_id: Mapped[str] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True)
    key: Mapped[str] = mapped_column(String(40), primary_key=True)
    number: Mapped[int]
    attempt: Mapped[int]
    variant: Mapped[int]
    kind: Mapped[str] = mapped_column(String(20))
    outcome: Mapped[str] = mapped_column(String(20))
    status: Mapped[str] = mapped_column(String(20), default="")
    forecast_ns: Mapped[float | None]
    forecast_cycles: Mapped[int | None] = mapped_column(BigInteger)
    measured_ns: Mapped[float | None]
    schedule: Mapped[dict[str, Any] | None]
    certificate: Mapped[dict[str, Any] | None]
    structure: Mapped[dict[str, Any]]
    measurement: Mapped[dict[str, Any]]
    report: Mapped[dict[str, Any]]
    not_honoured: Mapped[list[Any]]
    failure: Mapped[dict[str, Any] | None]
    seconds: Mapped[dict[str, Any]]
    reused_from: Mapped[str | None] = mapped_column(String(40))
    """The job whose build and measurement this row reuses."""
    ir_hash: Mapped[str] = mapped_column(String(100))
    profile: Mapped[str] = mapped_column(String(71))
    toolchain: Mapped[str] = mapped_column(String(200))
    constraint_set: Mapped[str] = mapped_column(String(100))
    protocol: Mapped[str] = mapped_column(String(100))
    verification: Mapped[str] = mapped_column(String(100))
    pins: Mapped[str] = mapped_column(String(71))
    build_options: Mapped[str] = mapped_column(String(200), server_default="")
    ended_at: Mapped[datetime] = mapped_column(default=now)

    @property
    def forecast(self) -> float | None:
        """Nanoseconds, or cycles where the cost model has no clock; a job has only one of them."""
        return self.forecast_ns if self.forecast_ns is not None else self.forecast_cycles


class CandidateArtifact(Base):
    """A product of a candidate: ``tilelang_source``, ``cuda_source``, ``binary``, ..."""

    __tablename__ = "candidate_artifacts"
    __table_args__ = (
        ForeignKeyConstraint(["job_id", "key"], ["candidates.job_id", "candidates.key"], ondelete="CASCADE"),
    )

    job_id: Mapped[str] = mapped_column(String(40), primary_key=True)
    key: Mapped[str] = mapped_column(String(40), primary_key=True)
    name: Mapped[str] = mapped_column(String(60), primary_key=True)
    digest: Mapped[str] = mapped_column(ForeignKey("artifacts.digest"), index=True)
