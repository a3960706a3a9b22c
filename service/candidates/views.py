"""Rows of candidates as wire forms."""

from dataclasses import asdict

from warpwright.service.candidates.rows import fingerprint_columns
from warpwright.service.candidates.schemas import CandidateSummary, CandidateView
from warpwright.service.db.models import Candidate

__all__ = ["summary", "view"]


def summary(row: Candidate) -> CandidateSummary:
    """A candidate in a list."""
    return CandidateSummary(
        id=row.key,
        number=row.number,
        variant=row.variant,
        kind=row.kind,
        outcome=row.outcome,
        status=row.status,
        forecast_ns=row.forecast_ns,
        measured_ns=row.measured_ns,
        structure=row.structure,
        failure=row.failure,
        not_honoured=row.not_honoured,
        reused_from=row.reused_from,
        ended_at=row.ended_at,
    )


def view(row: Candidate, artifacts: dict[str, str]) -> CandidateView:
    """A candidate with everything."""
    return CandidateView(
        **summary(row).model_dump(),
        job=row.job_id,
        attempt=row.attempt,
        schedule=row.schedule,
        certificate=row.certificate,
        measurement=row.measurement,
        report=row.report,
        seconds=row.seconds,
        artifacts=artifacts,
        fingerprint=asdict(fingerprint_columns(row)),
    )
