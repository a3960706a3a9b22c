"""Wire forms of candidates: the domain's value, in the envelope of a job."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated

from pydantic import ConfigDict, Field

from warpwright.service.recorded import BuildReportJson, MeasurementJson
from warpwright.solver.domain import Candidate

__all__ = ["CandidateView", "RecordedCandidate"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedCandidate(Candidate):
    """A candidate as stored: the records of its session and its build are described, and passed on unchanged."""

    measurement: MeasurementJson = field(default_factory=dict)
    report: BuildReportJson = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateView(RecordedCandidate):
    """A candidate of a job, with its artifacts. Times are nanoseconds of one launch; a forecast is never a measurement."""

    # A client may be older than its server.
    __pydantic_config__ = ConfigDict(extra="ignore")

    job: str
    number: Annotated[int, Field(description="Number within the job, in the order of ending, from 1.")]
    attempt: int
    reused_from: Annotated[str | None, Field(description="The job whose build and measurement it reuses.")]
    ended_at: datetime
    artifacts: Annotated[
        dict[str, str], Field(description="Product name to digest; the bytes are at /v1/artifacts/{digest}.")
    ]
    fingerprint: dict[str, str]
