"""All ORM models, in one place, because they refer to each other and migrations need every one of them."""

from service.db.models.artifact import Artifact
from service.db.models.batch import Batch, BatchItem
from service.db.models.candidate import Candidate, CandidateArtifact
from service.db.models.job import (
    IdempotencyKey,
    Interest,
    Job,
    JobAttempt,
    JobEvent,
    JobSize,
    JobState,
    JobVariant,
    Share,
    Work,
)
from service.db.models.kernel import Kernel, KernelText
from service.db.models.profile import Profile
from service.db.models.result import StoredResult
from service.db.models.token import Token
from service.db.models.worker import Worker

__all__ = [
    "Artifact",
    "Batch",
    "BatchItem",
    "Candidate",
    "CandidateArtifact",
    "IdempotencyKey",
    "Interest",
    "Job",
    "JobAttempt",
    "JobEvent",
    "JobSize",
    "JobState",
    "JobVariant",
    "Kernel",
    "KernelText",
    "Profile",
    "Share",
    "StoredResult",
    "Token",
    "Work",
    "Worker",
]
