"""Rows of candidates as wire forms."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields

from warpwright.service.candidates import repository
from warpwright.service.candidates.rows import candidate_of, fingerprint_columns
from warpwright.service.candidates.schemas import CandidateView
from warpwright.service.db import ReadSession
from warpwright.service.db.models import CandidateRow
from warpwright.solver.domain import Candidate

__all__ = ["view", "views"]


def views(session: ReadSession, job_id: str, rows: Sequence[CandidateRow]) -> list[CandidateView]:
    """Candidates of one job, each in its envelope."""
    artifacts = repository.artifacts_of_many(session, job_id, [row.key for row in rows])
    params = repository.params_of_variants(session, job_id)
    return [_view(row, artifacts.get(row.key, {}), params.get(row.variant, {})) for row in rows]


def view(session: ReadSession, row: CandidateRow) -> CandidateView:
    """One candidate in its envelope."""
    return views(session, row.job_id, [row])[0]


def _view(row: CandidateRow, artifacts: dict[str, str], params: Mapping[str, object]) -> CandidateView:
    candidate = candidate_of(row, params=params)
    return CandidateView(
        **{field.name: getattr(candidate, field.name) for field in fields(Candidate)},
        job=row.job_id,
        number=row.number,
        attempt=row.attempt,
        reused_from=row.reused_from,
        ended_at=row.ended_at,
        artifacts=artifacts,
        fingerprint=asdict(fingerprint_columns(row)),
    )
