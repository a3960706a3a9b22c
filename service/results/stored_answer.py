"""The stored answer to a lookup: everything that a build needs, except the artifacts' bytes.

It is written once, when its job ends, and sent as it was written ever after; so its fields are append only.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, TypeAdapter

from warpwright.service.candidates.schemas import RecordedCandidate
from warpwright.solver.domain import Candidate, Fingerprint, Outcome

__all__ = ["StoredAnswer", "answer_of", "read_answer", "write_answer"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredAnswer(RecordedCandidate):
    """The best candidate of a kernel on a device, and the identity that it answers for. The report is with its job."""

    # Written by one version, read by all later ones, and by clients that may be older.
    __pydantic_config__ = ConfigDict(extra="ignore")

    id: Annotated[str, Field(alias="candidate")]
    schema: Literal["warpwright.result/1"] = "warpwright.result/1"
    name: str
    job: str
    measured: bool
    partial: Annotated[bool, Field(description="The job was stopped; this is the best of what was known then.")]
    artifacts: Annotated[
        dict[str, str], Field(description="Product name to digest; the bytes are at /v1/artifacts/{digest}.")
    ]
    fingerprint: dict[str, str]


_ADAPTER: TypeAdapter[StoredAnswer] = TypeAdapter(StoredAnswer)
_JOBS_TO_TELL = {"report", "not_honoured", "failure", "seconds"}
"""What a build does not need; the candidate at its job has it."""


def answer_of(
    candidate: Candidate,
    *,
    name: str,
    job: str,
    partial: bool,
    artifacts: Mapping[str, str],
    fingerprint: Fingerprint,
) -> StoredAnswer:
    """The answer that a job's best candidate is for a fingerprint."""
    return StoredAnswer(
        **{field.name: getattr(candidate, field.name) for field in fields(Candidate)},
        name=name,
        job=job,
        measured=candidate.outcome is Outcome.MEASURED,
        partial=partial,
        artifacts=dict(artifacts),
        fingerprint=asdict(fingerprint),
    )


def write_answer(answer: StoredAnswer) -> str:
    """The text that is stored and sent."""
    return _ADAPTER.dump_json(answer, by_alias=True, exclude=_JOBS_TO_TELL).decode()


def read_answer(text: str) -> StoredAnswer:
    """The answer of a stored text, of whatever version wrote it."""
    return _ADAPTER.validate_json(text)
