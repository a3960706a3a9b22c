"""Candidate ids: a digest of what makes a candidate, the same in every attempt, process and job."""

import json

from warpwright.solver.domain import Schedule, digest_text, dumps
from warpwright.tuning.result import CandidateKind

__all__ = ["candidate_id"]


def candidate_id(ir_hash: str, kind: CandidateKind, schedule: Schedule | None) -> str:
    """``cand_`` and 24 hex digits over kernel identity, kind and schedule (canonical JSON)."""
    text = json.dumps([ir_hash, kind.value, dumps(schedule) if schedule is not None else None])
    return "cand_" + digest_text(text).removeprefix("sha256:")[:24]
