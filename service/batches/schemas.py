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
        default="", max_length=200, description="The client's own name of the line; it comes back with it."
    )


class BatchSummary(BaseModel):
    """A batch in a list."""

    id: str
    name: str
    created_at: datetime
    lines: int


class BatchView(BatchSummary):
    """A batch's one status, counted from its jobs."""

    ended: bool
    cancelled: bool
    counts: dict[str, int] = Field(description="Lines by the state of their job; `refused` for those that became none.")
    jobs: int = Field(description="Different jobs behind the lines: identical lines share one.")
    done: int = Field(description="Candidates that reached their end, over all jobs.")
    total: int = Field(description="Candidates to try, over the jobs whose solver is done.")
    seconds_left: float | None = Field(description="Estimate from the jobs that ended so far; null before the first.")


class ItemView(BaseModel):
    """One line and what became of it."""

    line: int
    label: str
    job: str | None
    problem: dict[str, Any] | None
