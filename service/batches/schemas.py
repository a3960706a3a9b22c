"""Wire forms of batches."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, Field

from warpwright.service.jobs.schemas import JobSubmission

__all__ = ["BatchLine", "BatchSummary", "BatchView", "ItemView", "ResultFormat"]


class ResultFormat(StrEnum):
    """How results are written."""

    JSONL = "jsonl"
    CSV = "csv"


class BatchLine(JobSubmission):
    """One line of a batch."""

    label: str = Field(
        default="", max_length=200, description="The client's own name for the line; it is returned with it."
    )


class BatchSummary(BaseModel):
    """A batch in a list."""

    id: str
    name: str
    created_at: datetime
    lines: int


class BatchView(BatchSummary):
    """The status of a batch, counted from its jobs."""

    ended: bool
    cancelled: bool
    counts: dict[str, int] = Field(
        description="Lines by the state of their job; `refused` for lines that did not become a job."
    )
    jobs: int = Field(description="Different jobs of the lines: identical lines share one.")
    done: int = Field(description="Candidates that have ended, over all jobs.")
    total: int = Field(description="Candidates to try, over the jobs whose solver has finished.")
    seconds_left: float | None = Field(
        description="Estimate from the jobs that have ended so far; null before the first."
    )


class ItemView(BaseModel):
    """One line and its job or problem."""

    line: int
    label: str
    job: str | None
    problem: dict[str, Any] | None
