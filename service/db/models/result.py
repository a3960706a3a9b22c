"""Stored results: the best answer per fingerprint, ready to send."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from warpwright.service.db.base import Base, now

__all__ = ["StoredResult"]


class StoredResult(Base):
    """The best result of one fingerprint. The eight columns are the identity; ``key`` is their digest, for the one-row lookup.

    ``answer`` is the complete JSON answer as text: a cached lookup reads one row and sends it.
    """

    __tablename__ = "results"
    __table_args__ = (Index("ix_results_ir_profile", "ir", "profile"),)

    key: Mapped[str] = mapped_column(String(71), primary_key=True)
    ir: Mapped[str] = mapped_column(String(100))
    profile: Mapped[str] = mapped_column(String(71), index=True)
    toolchain: Mapped[str] = mapped_column(String(200), index=True)
    constraint_set: Mapped[str] = mapped_column(String(100))
    protocol: Mapped[str] = mapped_column(String(100))
    verification: Mapped[str] = mapped_column(String(100))
    pins: Mapped[str] = mapped_column(String(71))
    build_options: Mapped[str] = mapped_column(String(200), server_default="")
    pins_document: Mapped[dict[str, Any]]
    name: Mapped[str] = mapped_column(String(200))
    job_id: Mapped[str] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), index=True)
    candidate: Mapped[str] = mapped_column(String(40))
    measured: Mapped[bool]
    time_ns: Mapped[float | None]
    answer: Mapped[str] = mapped_column(Text)
    created_at: Mapped[datetime] = mapped_column(default=now)
    updated_at: Mapped[datetime] = mapped_column(default=now, onupdate=now)
