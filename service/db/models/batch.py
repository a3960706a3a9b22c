"""Batches: many jobs under one status."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index, String
from sqlalchemy.orm import Mapped, mapped_column

from warpwright.service.db.base import Base, now

__all__ = ["Batch", "BatchItem"]


class Batch(Base):
    """One submitted file. Its state is counted from its jobs, never stored."""

    __tablename__ = "batches"

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    owner: Mapped[str] = mapped_column(String(40), default="", index=True)
    name: Mapped[str] = mapped_column(String(200), default="")
    digest: Mapped[str] = mapped_column(String(71), index=True)
    created_at: Mapped[datetime] = mapped_column(default=now)
    cancelled_at: Mapped[datetime | None]


class BatchItem(Base):
    """One line: its job, or the problem that prevented one."""

    __tablename__ = "batch_items"
    __table_args__ = (Index("ix_batch_items_job", "job_id"),)

    batch_id: Mapped[str] = mapped_column(ForeignKey("batches.id", ondelete="CASCADE"), primary_key=True)
    line: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    label: Mapped[str] = mapped_column(String(200), default="")
    job_id: Mapped[str | None] = mapped_column(ForeignKey("jobs.id", ondelete="SET NULL"))
    problem: Mapped[dict[str, Any] | None]
