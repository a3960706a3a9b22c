"""Rows of artifacts."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from sqlalchemy import exists, or_, select, update

from warpwright.service.db import ReadSession, WriteSession
from warpwright.service.db.base import now
from warpwright.service.db.models import Artifact, CandidateArtifact, JobSize, JobVariant

__all__ = ["get", "quarantine", "record", "unreferenced"]


def get(session: ReadSession, digest: str) -> Artifact | None:
    """The row of a digest."""
    return session.get(Artifact, digest)


def record(session: WriteSession, items: Iterable[tuple[str, str, int]]) -> None:
    """Record (digest, media type, bytes) of stored files; known ones count as used now and leave quarantine."""
    rows = {digest: (media_type, size) for digest, media_type, size in items}
    session.insert_missing(
        Artifact,
        [
            {"digest": digest, "media_type": media_type, "bytes": size, "created_at": now(), "last_used_at": now()}
            for digest, (media_type, size) in sorted(rows.items())
        ],
    )
    if rows:
        touched = update(Artifact).where(Artifact.digest.in_(sorted(rows)))
        session.execute(touched.values(last_used_at=now(), quarantined_at=None))


def quarantine(session: WriteSession, digest: str) -> None:
    """Record that the bytes of a digest are damaged."""
    session.execute(update(Artifact).where(Artifact.digest == digest).values(quarantined_at=now()))


def unreferenced(session: ReadSession, before: datetime, limit: int) -> Sequence[str]:
    """Digests that no candidate and no job's variant or size refers to, and that nobody used since ``before``."""
    query = (
        select(Artifact.digest)
        .where(
            Artifact.last_used_at < before,
            ~or_(
                exists().where(CandidateArtifact.digest == Artifact.digest),
                exists().where(JobVariant.text_digest == Artifact.digest),
                exists().where(JobSize.text_digest == Artifact.digest),
            ),
        )
        .order_by(Artifact.last_used_at)
        .limit(limit)
    )
    return session.scalars(query).all()
