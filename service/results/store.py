"""From an ended job to stored results: one for the kernel family, one for each variant, each the best verified candidate."""

import json
from collections.abc import Sequence
from typing import Any

from warpwright.lowering.compile.options import column_of
from warpwright.service.candidates import repository as candidate_rows
from warpwright.service.candidates.rows import candidate_of
from warpwright.service.db import WriteSession
from warpwright.service.db.base import now
from warpwright.service.db.models import CandidateRow, Job
from warpwright.service.results import repository
from warpwright.solver.domain import Candidate, Fingerprint, Outcome, digest_text
from warpwright.tuning.ranking import best_of
from warpwright.tuning.toolchain import Identity

__all__ = ["SCHEMA", "answer_of", "family_hash", "remember"]

SCHEMA = "warpwright.result/1"


def family_hash(ir_hashes: Sequence[str]) -> str:
    """Identity of a kernel family: its only member's, or a digest over the set of its members'."""
    members = sorted(set(ir_hashes))
    return members[0] if len(members) == 1 else "family:" + digest_text("\n".join(members))


def remember(
    session: WriteSession, job: Job, identity: Identity, pins: dict[str, Any], pins_digest: str, hashes: Sequence[str]
) -> None:
    """Store what a job found. Called in the transaction that ends the job."""
    rows = {row.key: row for row in candidate_rows.all_of(session, job.id)}
    records = [candidate_of(row) for row in rows.values()]
    wrong = [record.id for record in records if record.outcome is Outcome.WRONG_RESULT]
    subjects: dict[str, list[Candidate]] = {}
    if hashes:
        subjects[family_hash(hashes)] = records
    for number, ir_hash in enumerate(hashes):
        subjects.setdefault(ir_hash, [r for r in records if r.variant == number])
    for subject in sorted(subjects):
        best = best_of(subjects[subject])
        if best is None or best.outcome is Outcome.SOLVED:
            continue
        fingerprint = Fingerprint(
            ir=subject,
            profile=job.profile_digest,
            toolchain=identity.toolchain,
            constraint_set=identity.constraint_set,
            protocol=identity.protocol,
            verification=identity.verification,
            pins=pins_digest,
            build_options=column_of(job.request.get("build_options", ())),
        )
        row = rows[best.id]
        artifacts = candidate_rows.artifacts(session, job.id, best.id)
        measured = best.outcome is Outcome.MEASURED
        repository.keep_better(
            session,
            {
                "key": fingerprint.key(),
                **{name: getattr(fingerprint, name) for name in repository.COLUMNS},
                "pins_document": pins,
                "name": job.name,
                "job_id": job.id,
                "candidate": best.id,
                "measured": measured,
                "time_ns": best.measured_ns if measured else best.forecast_ns,
                "answer": json.dumps(answer_of(job, row, artifacts, fingerprint), sort_keys=True, allow_nan=False),
                "created_at": now(),
                "updated_at": now(),
            },
            wrong=wrong,
        )


def answer_of(job: Job, row: CandidateRow, artifacts: dict[str, str], fingerprint: Fingerprint) -> dict[str, Any]:
    """The stored answer: everything that a build needs, except the artifacts' bytes."""
    return {
        "schema": SCHEMA,
        "name": job.name,
        "job": job.id,
        "candidate": row.key,
        "variant": row.variant,
        "kind": row.kind,
        "outcome": row.outcome,
        "measured": row.outcome == Outcome.MEASURED,
        "measured_ns": row.measured_ns,
        "forecast_ns": row.forecast_ns,
        "status": row.status,
        "schedule": row.schedule,
        "certificate": row.certificate,
        "measurement": row.measurement,
        "artifacts": artifacts,
        "partial": job.partial,
        "fingerprint": {name: getattr(fingerprint, name) for name in repository.COLUMNS},
    }
