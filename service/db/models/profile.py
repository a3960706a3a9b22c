"""Hardware profiles, immutable by digest."""

from datetime import datetime
from typing import Any

from sqlalchemy import String
from sqlalchemy.orm import Mapped, mapped_column

from warpwright.service.db.base import Base, now

__all__ = ["Profile"]


class Profile(Base):
    """One version of a device's document. A name may have several versions; the name means the newest."""

    __tablename__ = "profiles"

    digest: Mapped[str] = mapped_column(String(71), primary_key=True)
    name: Mapped[str] = mapped_column(String(100), index=True)
    title: Mapped[str] = mapped_column(String(200))
    family: Mapped[str] = mapped_column(String(20))
    arch: Mapped[str] = mapped_column(String(40))
    document: Mapped[dict[str, Any]]
    builtin: Mapped[bool]
    created_at: Mapped[datetime] = mapped_column(default=now)
