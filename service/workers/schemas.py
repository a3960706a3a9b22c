"""Wire forms of workers."""

from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from service.fields import Flag, Real, Whole

__all__ = ["WorkerReport", "WorkerView"]


class WorkerReport(BaseModel):
    """What a worker says of itself with every heartbeat."""

    model_config = ConfigDict(extra="forbid")

    capabilities: list[str] = Field(max_length=20)
    devices: list[dict[str, JsonValue]] = Field(default_factory=list, max_length=64)
    versions: dict[str, str] = Field(default_factory=dict, max_length=50)
    healthy: Flag = Field(default=True, description="False while a device fails its canary.")
    last_error: dict[str, JsonValue] | None = Field(default=None)
    tasks_done: Whole = Field(default=0, ge=0, le=2**31 - 1)
    uptime_seconds: Real | None = Field(
        default=None,
        ge=0,
        le=1e9,
        allow_inf_nan=False,
        description="Since the worker started, by its own clock, so that clocks need not agree.",
    )


class WorkerView(BaseModel):
    """A worker process."""

    id: str
    capabilities: list[str]
    devices: list[dict[str, Any]]
    versions: dict[str, str]
    healthy: bool
    draining: bool
    alive: bool = Field(description="Its heartbeat came within the last minute.")
    started_at: datetime
    heartbeat_at: datetime
    last_error: dict[str, Any] | None
    tasks_done: int
