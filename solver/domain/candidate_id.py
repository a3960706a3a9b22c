"""Candidate ids: a digest of what makes a candidate, the same in every attempt, process and job."""

import json

from warpwright.solver.domain.candidate import CandidateKind
from warpwright.solver.domain.documents import dumps
from warpwright.solver.domain.identity import digest_text
from warpwright.solver.domain.verdict import Schedule

__all__ = ["candidate_id"]


def candidate_id(kernel: str, kind: CandidateKind, schedule: Schedule | None) -> str:
    """``cand_`` and 24 hex digits over the kernel's identity (the structural hash of its IR), kind and schedule."""
    text = json.dumps([kernel, kind.value, dumps(schedule) if schedule is not None else None])
    return "cand_" + digest_text(text).removeprefix("sha256:")[:24]
