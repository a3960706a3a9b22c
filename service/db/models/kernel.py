"""Kernels by structural identity, and the known IR texts of each."""

from datetime import datetime

from sqlalchemy import ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from warpwright.service.db.base import Base, now

__all__ = ["Kernel", "KernelText"]


class Kernel(Base):
    """A kernel: ``ir_hash`` ignores names, spans and key order; constants, shapes, dtypes and strides count."""

    __tablename__ = "kernels"

    ir_hash: Mapped[str] = mapped_column(String(100), primary_key=True)
    name: Mapped[str] = mapped_column(String(200), index=True)
    created_at: Mapped[datetime] = mapped_column(default=now)


class KernelText(Base):
    """One text of a kernel, by the digest of its bytes: answers ``which kernel is this?`` without parsing it again."""

    __tablename__ = "kernel_texts"

    digest: Mapped[str] = mapped_column(String(71), primary_key=True)
    ir_hash: Mapped[str] = mapped_column(ForeignKey("kernels.ir_hash"), index=True)
    created_at: Mapped[datetime] = mapped_column(default=now)
