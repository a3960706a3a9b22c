"""Wire forms of workers."""

import json
from datetime import datetime
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue

from warpwright.service.strict_types import Flag, Real, Whole

__all__ = ["WorkerReport", "WorkerView"]


FACTS_BYTES = 16 << 10
"""Size limit of one device or error as JSON: lists and the dashboard read whole rows."""


def _small(facts: dict[str, JsonValue]) -> dict[str, JsonValue]:
    if len(json.dumps(facts)) > FACTS_BYTES:
        raise ValueError(f"more than {FACTS_BYTES} bytes as JSON")
    return facts


Facts = Annotated[dict[str, JsonValue], AfterValidator(_small)]


class WorkerReport(BaseModel):
    """A worker's report with every heartbeat."""

    model_config = ConfigDict(extra="forbid")

    capabilities: list[Annotated[str, Field(max_length=100)]] = Field(max_length=20)
    devices: list[Facts] = Field(default_factory=list, max_length=64)
    versions: dict[Annotated[str, Field(max_length=100)], Annotated[str, Field(max_length=500)]] = Field(
        default_factory=dict, max_length=50
    )
    healthy: Flag = Field(default=True, description="False while a device fails its canary.")
    last_error: Facts | None = Field(default=None)
    tasks_done: Whole = Field(default=0, ge=0, le=2**31 - 1)
    uptime_seconds: Real | None = Field(
        default=None,
        ge=0,
        le=1e9,
        allow_inf_nan=False,
        description="Seconds since the worker's start by its own clock, so that clocks need not agree.",
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
