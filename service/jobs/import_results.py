"""Results of a bundle from a machine without a network: checked, written to the job's candidates, and the winner chosen again.

Importing the same document again changes nothing; a document of another job or of other binaries is refused as a whole.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from warpwright.service.app_context import Context
from warpwright.service.candidates import repository as candidate_rows
from warpwright.service.candidates.rows import apply, candidate_of
from warpwright.service.db import WriteSession
from warpwright.service.db.models import CandidateRow, Job, Profile
from warpwright.service.errors import InvalidRequest, NotFound, StateConflict
from warpwright.service.jobs import repository
from warpwright.service.jobs.service import find
from warpwright.service.profiles.service import domain_profile
from warpwright.service.results.store import remember
from warpwright.solver.domain import Candidate, HardwareProfile, Outcome, digest_text, dumps, load
from warpwright.solver.domain.pins import Pins
from warpwright.tuning.bundle import BundleResults, read_results
from warpwright.tuning.measure.outcomes import outcomes_of
from warpwright.tuning.measure.proof import KnownBuild, unproven, unproven_rounds
from warpwright.tuning.measure.session import MeasureReport
from warpwright.tuning.measuring import with_measurement
from warpwright.tuning.partial_reasons import UNMEASURED
from warpwright.tuning.ranking import ranking_of
from warpwright.tuning.roofline_floor import floor_in
from warpwright.tuning.toolchain import Identity
from warpwright.tuning.verdicts import refusal_of

__all__ = ["tell"]

TOLD_STATES = frozenset({"done", "cancelled"})


def tell(context: Context, job_id: str, document: dict[str, Any]) -> None:
    """Writes the measurements of a ``warpwright.bundle-results/1`` document to the job's candidates.

    What is told is proven like what is measured here (``warpwright.tuning.measure.proof``), or nothing of it is taken.

    Raises:
        BundleError: the document is damaged.
        StateConflict: ``job-not-ended``, while the job may still change its candidates.
        InvalidRequest: ``results-of-another-job``, ``results-of-another-binary``, ``results-of-a-refused-candidate``,
            ``results-unproven``.
    """
    results = read_results(json.dumps(document))
    context.database.write(lambda session: _write(session, find(session, job_id), results))
    context.bulletin.announce(job_id)


def _write(session: WriteSession, job: Job, results: BundleResults) -> None:
    if job.state not in TOLD_STATES:
        raise StateConflict(f"job {job.id} is still {job.state}", code="job-not-ended", place="/job")
    profile = session.get(Profile, job.profile_digest)
    if profile is None:
        raise NotFound(f"profile {job.profile_digest} was deleted", code="profile-unknown")
    rows = {row.key: row for row in candidate_rows.all_of(session, job.id)}
    builds = {key: _known_build(row, domain_profile(profile)) for key, row in rows.items()}
    _check(results.report, builds, {key: refusal_of(candidate_of(row)) for key, row in rows.items()})
    for candidate, outcome in outcomes_of(results.report, builds).items():
        row = rows[candidate]
        apply(row, with_measurement(candidate_of(row), outcome))
        row.protocol = results.protocol
    session.flush()
    _conclude(job, [candidate_of(row) for row in rows.values()])
    session.flush()
    _remember(session, job, rows, results.protocol)
    data = {"bundle": results.bundle, "candidates": len(results.report.results), "best": job.best, "note": job.note}
    repository.add_event(session, job.id, job.attempt, "told", data)


def _conclude(job: Job, records: Sequence[Candidate]) -> None:
    """The job's answer by what is known now. One that only lacked measurements is whole when it lacks none any more."""
    ranking = ranking_of(records)
    job.best = ranking.best.id if ranking.best else None
    job.note = ranking.note
    job.summary = {**(job.summary or {}), "tied": list(ranking.tied), "margin": ranking.margin}
    lacking = {record.outcome for record in records} & {Outcome.COMPILED, Outcome.SKIPPED}
    if job.partial and job.stopped_by in UNMEASURED and not lacking:
        job.partial, job.stopped_by = False, ""


def _known_build(row: CandidateRow, profile: HardwareProfile) -> KnownBuild:
    """What the job knows of a candidate that it built."""
    return KnownBuild(str(row.report.get("binary_digest", "")), profile, floor_in(row.report))


def _check(report: MeasureReport, builds: Mapping[str, KnownBuild], refusals: Mapping[str, str]) -> None:
    """Refuses a document of which anything is of another job or another binary, lacks a proof, or was never to be run."""
    for measured in report.results:
        place, build = f"/results/{measured.candidate}", builds.get(measured.candidate)
        if build is None:
            message = f"the job has no candidate {measured.candidate!r}"
            raise InvalidRequest(message, code="results-of-another-job", place=place)
        if refusal := refusals.get(measured.candidate):
            message = f"{measured.candidate} must not be run: {refusal}"
            raise InvalidRequest(message, code="results-of-a-refused-candidate", place=place)
        if measured.binary_digest and measured.binary_digest != build.binary_digest:
            message = (
                f"{measured.candidate} was measured as {measured.binary_digest}, but built as {build.binary_digest}"
            )
            raise InvalidRequest(message, code="results-of-another-binary", place=place)
        if gap := unproven(measured, build):
            raise InvalidRequest(f"{measured.candidate}: {gap}", code="results-unproven", place=place)
    if report.rounds is not None and (gap := unproven_rounds(report.rounds, builds)):
        raise InvalidRequest(gap, code="results-unproven", place="/rounds")


def _remember(session: WriteSession, job: Job, rows: dict[str, CandidateRow], protocol: str) -> None:
    """Updates the stored results, under the identity that the candidates were built with."""
    row = rows[job.best] if job.best else next(iter(rows.values()), None)
    if row is None:
        return
    identity = Identity(row.toolchain, row.constraint_set, protocol, row.verification)
    pins = job.request["pins"]
    hashes = [variant.ir_hash for variant in repository.variants(session, job.id) if variant.ir_hash]
    remember(session, job, identity, pins, digest_text(dumps(load(Pins, pins))), hashes)
