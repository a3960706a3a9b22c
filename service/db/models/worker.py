"""Workers: processes on this or other machines that run tasks."""

from datetime import datetime
from typing import Any

from sqlalchemy import String
from sqlalchemy.orm import Mapped, mapped_column

from warpwright.service.db.base import Base, now

__all__ = ["Worker"]


class Worker(Base):
    """One worker process, by its own name; removed some time after its heartbeat stops."""

    __tablename__ = "workers"

    id: Mapped[str] = mapped_column(String(120), primary_key=True)
    capabilities: Mapped[list[Any]]
    devices: Mapped[list[Any]]
    versions: Mapped[dict[str, Any]]
    draining: Mapped[bool] = mapped_column(default=False)
    healthy: Mapped[bool] = mapped_column(default=True)
    started_at: Mapped[datetime] = mapped_column(default=now)
    heartbeat_at: Mapped[datetime] = mapped_column(default=now, index=True)
    last_error: Mapped[dict[str, Any] | None]
    tasks_done: Mapped[int] = mapped_column(default=0)
