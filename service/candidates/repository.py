"""Queries over candidates."""

from collections.abc import Mapping, Sequence

from sqlalchemy import select

from warpwright.service.db import ReadSession, WriteSession
from warpwright.service.db.models import CandidateArtifact, CandidateRow, JobVariant
from warpwright.solver.domain import BASELINES

__all__ = [
    "all_of",
    "artifacts",
    "artifacts_of_many",
    "baselines",
    "by_key",
    "get",
    "page",
    "params_of_variants",
    "products",
]


def get(session: ReadSession, job_id: str, key: str) -> CandidateRow | None:
    """One candidate of a job."""
    return session.get(CandidateRow, (job_id, key))


def page(
    session: ReadSession,
    job_id: str,
    limit: int,
    *,
    after: int = 0,
    outcome: str | None = None,
    kind: str | None = None,
) -> Sequence[CandidateRow]:
    """Up to ``limit`` candidates of a job by number."""
    query = (
        select(CandidateRow)
        .where(CandidateRow.job_id == job_id, CandidateRow.number > after)
        .order_by(CandidateRow.number)
        .limit(limit)
    )
    if outcome is not None:
        query = query.where(CandidateRow.outcome == outcome)
    if kind is not None:
        query = query.where(CandidateRow.kind == kind)
    return session.scalars(query).all()


def all_of(session: ReadSession, job_id: str) -> Sequence[CandidateRow]:
    """All candidates of a job by number; the job's budget bounds their number."""
    return session.scalars(
        select(CandidateRow).where(CandidateRow.job_id == job_id).order_by(CandidateRow.number)
    ).all()


def baselines(session: ReadSession, job_id: str) -> Sequence[CandidateRow]:
    """A job's candidates of the compiler's own kinds: three, or three for each variant up to the first that fits."""
    kinds = [kind.value for kind in BASELINES]
    query = select(CandidateRow).where(CandidateRow.job_id == job_id, CandidateRow.kind.in_(kinds))
    return session.scalars(query.order_by(CandidateRow.number).limit(256)).all()


def artifacts(session: ReadSession, job_id: str, key: str) -> dict[str, str]:
    """Digests of a candidate's products by name."""
    return artifacts_of_many(session, job_id, [key]).get(key, {})


def artifacts_of_many(session: ReadSession, job_id: str, keys: Sequence[str]) -> dict[str, dict[str, str]]:
    """Digests of the products of several candidates."""
    rows = session.scalars(
        select(CandidateArtifact)
        .where(CandidateArtifact.job_id == job_id, CandidateArtifact.key.in_(list(keys)))
        .order_by(CandidateArtifact.name)
    )
    found: dict[str, dict[str, str]] = {}
    for row in rows:
        found.setdefault(row.key, {})[row.name] = row.digest
    return found


def params_of_variants(session: ReadSession, job_id: str) -> dict[int, Mapping[str, object]]:
    """The parameters of a job's variants by number."""
    rows = session.rows(select(JobVariant.number, JobVariant.params).where(JobVariant.job_id == job_id))
    return {int(number): params for number, params in rows}


def by_key(
    session: ReadSession, keys: Sequence[str], columns: Mapping[str, str], outcomes: Sequence[str]
) -> Sequence[CandidateRow]:
    """Candidates of any job with these keys, identity columns and outcomes; newest first."""
    query = select(CandidateRow).where(CandidateRow.key.in_(list(keys)), CandidateRow.outcome.in_(list(outcomes)))
    for name, value in columns.items():
        query = query.where(getattr(CandidateRow, name) == value)
    return session.scalars(query.order_by(CandidateRow.ended_at.desc()).limit(4 * len(keys) + 4)).all()


def products(session: WriteSession, job_id: str, key: str, digests: Mapping[str, str]) -> None:
    """Record the products of a candidate; existing ones stay."""
    session.insert_missing(
        CandidateArtifact,
        [{"job_id": job_id, "key": key, "name": name, "digest": digest} for name, digest in sorted(digests.items())],
    )
