"""Queries over stored results."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import and_, case, delete, literal, or_, select, update

from warpwright.lowering.measure.protocol import GPU_1
from warpwright.service.db import ReadSession, WriteSession
from warpwright.service.db.base import now
from warpwright.service.db.models import StoredResult
from warpwright.solver.domain import Fingerprint

__all__ = ["COLUMNS", "by_key", "fingerprint_of", "forget", "keep_better", "nearest", "page", "relaxed"]

COLUMNS = ("ir", "profile", "toolchain", "constraint_set", "protocol", "verification", "pins", "build_options")
"""The identity, in the order of ``Fingerprint``."""

TIE = GPU_1.tie_margin
"""Relative difference below which a new time is no better than the stored one."""


def by_key(session: ReadSession, key: str) -> StoredResult | None:
    """The result of exactly this fingerprint."""
    return session.get(StoredResult, key)


def forget(session: WriteSession, job_id: str) -> None:
    """Remove what a job stored, under whatever fingerprint; other jobs' results stay."""
    mine = delete(StoredResult).where(StoredResult.job_id == job_id)
    session.execute(mine.execution_options(synchronize_session=False))


def keep_better(session: WriteSession, row: Mapping[str, Any], *, wrong: Sequence[str] = ()) -> None:
    """Store a result unless there is one as good: measured is better than unmeasured, then lower time, by more than noise.

    A stored result of a candidate in ``wrong`` does not count, however fast: its output was found to be wrong.

    One insert that may do nothing and one conditional update, so that the best of many concurrent writers stays.
    """
    if session.insert_missing(StoredResult, [row]):
        return
    better = or_(
        and_(StoredResult.measured.is_(False), literal(bool(row["measured"]))),
        and_(
            StoredResult.measured.is_(row["measured"]),
            or_(StoredResult.time_ns.is_(None), StoredResult.time_ns * (1.0 - TIE) > (row["time_ns"] or 0.0)),
            literal(row["time_ns"] is not None),
        ),
        StoredResult.candidate.in_(list(wrong)),
    )
    changed = {name: row[name] for name in ("job_id", "candidate", "measured", "time_ns", "answer", "name")}
    mine = update(StoredResult).where(StoredResult.key == row["key"], better)
    session.execute(mine.values(**changed, updated_at=now()).execution_options(synchronize_session=False))


def relaxed(session: ReadSession, wanted: Fingerprint, ignored: Sequence[str]) -> StoredResult | None:
    """The best result that agrees in all columns but the ignored ones: measured first, then the fastest, then the newest."""
    query = select(StoredResult)
    for name in COLUMNS:
        if name not in ignored:
            query = query.where(getattr(StoredResult, name) == getattr(wanted, name))
    query = query.order_by(
        StoredResult.measured.desc(), StoredResult.time_ns.asc().nulls_last(), StoredResult.updated_at.desc()
    )
    return session.scalars(query.limit(1)).first()


def nearest(session: ReadSession, wanted: Fingerprint, limit: int) -> list[tuple[Fingerprint, StoredResult]]:
    """Stored results of the same kernel, those that differ in the fewest columns first, then the newest."""
    differing = sum(
        (case((getattr(StoredResult, name) != getattr(wanted, name), 1), else_=0) for name in COLUMNS), literal(0)
    )
    query = select(StoredResult).where(StoredResult.ir == wanted.ir)
    query = query.order_by(differing, StoredResult.updated_at.desc(), StoredResult.key).limit(limit)
    return [(fingerprint_of(row), row) for row in session.scalars(query)]


def page(
    session: ReadSession,
    limit: int,
    *,
    after: str | None = None,
    ir: str | None = None,
    profile: str | None = None,
    stale: Mapping[str, Sequence[str]] | None = None,
) -> Sequence[StoredResult]:
    """Up to ``limit`` results by key; ``stale`` maps columns to their current values; any other value is stale."""
    query = select(StoredResult).order_by(StoredResult.key).limit(limit)
    if after is not None:
        query = query.where(StoredResult.key > after)
    if ir is not None:
        query = query.where(StoredResult.ir == ir)
    if profile is not None:
        query = query.where(StoredResult.profile == profile)
    if stale:
        query = query.where(or_(*(getattr(StoredResult, name).not_in(present) for name, present in stale.items())))
    return session.scalars(query).all()


def fingerprint_of(row: StoredResult) -> Fingerprint:
    """The identity of a row."""
    return Fingerprint(**{name: getattr(row, name) for name in COLUMNS})
