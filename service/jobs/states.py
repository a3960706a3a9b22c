"""States of a job: which follows which is in ``docs/jobs.md``."""

from enum import StrEnum

__all__ = ["ACTIVE", "ENDED", "RUNNING", "JobState"]


class JobState(StrEnum):
    """States of a job, stored by name, append only."""

    QUEUED = "queued"
    SOLVING = "solving"
    BUILDING = "building"
    MEASURING = "measuring"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


RUNNING = (JobState.SOLVING, JobState.BUILDING, JobState.MEASURING)
ACTIVE = (JobState.QUEUED, *RUNNING)
ENDED = (JobState.DONE, JobState.FAILED, JobState.CANCELLED)
