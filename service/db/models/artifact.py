"""Artifacts: bytes by content digest. The bytes are files; the row says that a complete file exists."""

from datetime import datetime

from sqlalchemy import BigInteger, String
from sqlalchemy.orm import Mapped, mapped_column

from warpwright.service.db.base import Base, now

__all__ = ["Artifact"]


class Artifact(Base):
    """One stored file. ``quarantined_at``: when a reader found that its bytes do not match the digest."""

    __tablename__ = "artifacts"

    digest: Mapped[str] = mapped_column(String(71), primary_key=True)
    media_type: Mapped[str] = mapped_column(String(100))
    bytes: Mapped[int] = mapped_column(BigInteger)
    created_at: Mapped[datetime] = mapped_column(default=now)
    last_used_at: Mapped[datetime] = mapped_column(default=now, index=True)
    quarantined_at: Mapped[datetime | None]
