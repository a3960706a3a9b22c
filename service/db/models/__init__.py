"""All ORM models, in one place, because they refer to each other and migrations need every one of them."""

from warpwright.service.db.models.artifact import Artifact
from warpwright.service.db.models.batch import Batch, BatchItem
from warpwright.service.db.models.candidate import CandidateArtifact, CandidateRow
from warpwright.service.db.models.job import (
    IdempotencyKey,
    Interest,
    Job,
    JobAttempt,
    JobEvent,
    JobSize,
    JobVariant,
    Share,
    Work,
)
from warpwright.service.db.models.kernel import Kernel, KernelText
from warpwright.service.db.models.profile import Profile
from warpwright.service.db.models.result import StoredResult
from warpwright.service.db.models.token import LoginSession, Token
from warpwright.service.db.models.worker import Worker

__all__ = [
    "Artifact",
    "Batch",
    "BatchItem",
    "CandidateArtifact",
    "CandidateRow",
    "IdempotencyKey",
    "Interest",
    "Job",
    "JobAttempt",
    "JobEvent",
    "JobSize",
    "JobVariant",
    "Kernel",
    "KernelText",
    "LoginSession",
    "Profile",
    "Share",
    "StoredResult",
    "Token",
    "Work",
    "Worker",
]
