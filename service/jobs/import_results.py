"""Results of a bundle from a machine without a network: checked, written to the job's candidates, and the winner chosen again.

Importing the same document again changes nothing; a document of another job or of other binaries is refused as a whole.
"""

import json
from typing import Any

from warpwright.service.app_context import Context
from warpwright.service.candidates import repository as candidate_rows
from warpwright.service.candidates.rows import apply, candidate_of
from warpwright.service.db import WriteSession
from warpwright.service.db.models import CandidateRow, Job
from warpwright.service.errors import InvalidRequest, StateConflict
from warpwright.service.jobs import repository
from warpwright.service.jobs.service import find
from warpwright.service.results.store import remember
from warpwright.solver.domain import digest_text, dumps, load
from warpwright.solver.domain.pins import Pins
from warpwright.tuning.bundle import BundleResults, read_results
from warpwright.tuning.measure.devices import told_outcomes
from warpwright.tuning.measuring import with_measurement
from warpwright.tuning.ranking import best_of, note_of, tied_with_best
from warpwright.tuning.toolchain import Identity

__all__ = ["tell"]

TOLD_STATES = frozenset({"done", "cancelled"})


def tell(context: Context, job_id: str, document: dict[str, Any]) -> None:
    """Writes the measurements of a ``warpwright.bundle-results/1`` document to the job's candidates.

    Raises:
        BundleError: the document is damaged.
        Conflict: ``job-not-ended``, while the job may still change its candidates.
        InvalidRequest: ``results-of-another-job``, ``results-of-another-binary``.
    """
    results = read_results(json.dumps(document))
    context.database.write(lambda session: _write(session, find(session, job_id), results))
    context.bulletin.announce(job_id)


def _write(session: WriteSession, job: Job, results: BundleResults) -> None:
    if job.state not in TOLD_STATES:
        raise StateConflict(f"job {job.id} is still {job.state}", code="job-not-ended", place="/job")
    rows = {row.key: row for row in candidate_rows.all_of(session, job.id)}
    for measured in results.report.results:
        _check(rows.get(measured.candidate), measured.candidate, measured.binary_digest)
    for candidate, outcome in told_outcomes(results.report).items():
        row = rows[candidate]
        apply(row, with_measurement(candidate_of(row), outcome))
        row.protocol = results.protocol
    session.flush()
    records = [candidate_of(row) for row in rows.values()]
    best = best_of(records)
    job.best = best.id if best else None
    job.note = note_of(best)
    job.summary = {**(job.summary or {}), "tied": list(tied_with_best(records))}
    session.flush()
    _remember(session, job, rows, results.protocol)
    data = {"bundle": results.bundle, "candidates": len(results.report.results), "best": job.best, "note": job.note}
    repository.add_event(session, job.id, job.attempt, "told", data)


def _check(row: CandidateRow | None, candidate: str, binary_digest: str) -> None:
    if row is None:
        raise InvalidRequest(
            f"the job has no candidate {candidate!r}", code="results-of-another-job", place=f"/results/{candidate}"
        )
    built = str(row.report.get("binary_digest", ""))
    if built and binary_digest and built != binary_digest:
        raise InvalidRequest(
            f"{candidate} was measured as {binary_digest}, but built as {built}",
            code="results-of-another-binary",
            place=f"/results/{candidate}",
        )


def _remember(session: WriteSession, job: Job, rows: dict[str, CandidateRow], protocol: str) -> None:
    """Updates the stored results, under the identity that the candidates were built with."""
    row = rows[job.best] if job.best else next(iter(rows.values()), None)
    if row is None:
        return
    identity = Identity(row.toolchain, row.constraint_set, protocol, row.verification)
    pins = job.request["pins"]
    hashes = [variant.ir_hash for variant in repository.variants(session, job.id) if variant.ir_hash]
    remember(session, job, identity, pins, digest_text(dumps(load(Pins, pins))), hashes)
