"""Wire forms of candidates."""

from datetime import datetime
from typing import Any

from pydantic import BaseModel, Field

__all__ = ["CandidateSummary", "CandidateView"]


class CandidateSummary(BaseModel):
    """A candidate and its outcome. Times are nanoseconds of one launch; a forecast is never a measurement."""

    id: str
    number: int = Field(description="Number within the job, in the order of ending, from 1.")
    variant: int
    kind: str = Field(description="scheduled, or the compiler's own choice: default, role_based, unspecialized.")
    outcome: str
    status: str
    forecast_ns: float | None
    measured_ns: float | None
    structure: dict[str, Any]
    failure: dict[str, Any] | None
    not_honoured: list[str]
    reused_from: str | None
    ended_at: datetime


class CandidateView(CandidateSummary):
    """A candidate with its schedule, its certificate, what was read back, and its artifacts."""

    job: str
    attempt: int
    schedule: dict[str, Any] | None
    certificate: dict[str, Any] | None
    measurement: dict[str, Any]
    report: dict[str, Any]
    seconds: dict[str, float]
    artifacts: dict[str, str] = Field(description="Product name to digest; the bytes are at /v1/artifacts/{digest}.")
    fingerprint: dict[str, str]
