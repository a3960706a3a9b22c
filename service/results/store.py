"""From an ended job to stored results: one for the kernel family, one for each variant, each the best verified candidate."""

from collections.abc import Sequence
from typing import Any

from warpwright.lowering.compile.options import column_of
from warpwright.service.candidates import repository as candidate_rows
from warpwright.service.candidates.rows import candidate_of
from warpwright.service.db import WriteSession
from warpwright.service.db.base import now
from warpwright.service.db.models import Job
from warpwright.service.results import repository
from warpwright.service.results.stored_answer import answer_of, write_answer
from warpwright.solver.domain import Candidate, Fingerprint, Outcome, digest_text
from warpwright.tuning.ranking import best_of
from warpwright.tuning.toolchain import Identity

__all__ = ["FAMILY", "family_hash", "remember"]

FAMILY = "family:"
"""How the identity of a kernel family begins."""


def family_hash(ir_hashes: Sequence[str]) -> str:
    """Identity of a kernel family: its only member's, or a digest over the set of its members'."""
    members = sorted(set(ir_hashes))
    return members[0] if len(members) == 1 else FAMILY + digest_text("\n".join(members))


def remember(
    session: WriteSession, job: Job, identity: Identity, pins: dict[str, Any], pins_digest: str, hashes: Sequence[str]
) -> None:
    """Store what a job found. Called in the transaction that ends the job."""
    params = candidate_rows.params_of_variants(session, job.id)
    rows = candidate_rows.all_of(session, job.id)
    records = [candidate_of(row, params=params.get(row.variant)) for row in rows]
    wrong = [record.id for record in records if record.outcome is Outcome.WRONG_RESULT]
    subjects: dict[str, list[Candidate]] = {}
    if hashes:
        subjects[family_hash(hashes)] = records
    for number, ir_hash in enumerate(hashes):
        subjects.setdefault(ir_hash, [r for r in records if r.variant == number])
    # What this job had stored before is its answer no more: measurements may have been told since.
    repository.forget(session, job.id)
    for subject in sorted(subjects):
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
        best = best_of(subjects[subject])
        if best is None or best.outcome is Outcome.SOLVED:
            continue
        answer = answer_of(
            best,
            name=job.name,
            job=job.id,
            partial=job.partial,
            artifacts=candidate_rows.artifacts(session, job.id, best.id),
            fingerprint=fingerprint,
        )
        measured = answer.measured
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
                "time_ns": best.time_ns,
                "answer": write_answer(answer),
                "created_at": now(),
                "updated_at": now(),
            },
            wrong=wrong,
        )
