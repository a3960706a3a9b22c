"""Rows of profiles."""

from collections.abc import Sequence

from sqlalchemy import func, or_, select

from warpwright.service.db import ReadSession, WriteSession
from warpwright.service.db.base import now
from warpwright.service.db.models import Profile
from warpwright.solver.domain import HardwareProfile, dump

__all__ = ["by_digest", "newest_named", "one_a_family", "page", "remember"]


def by_digest(session: ReadSession, digest: str) -> Profile | None:
    """The profile of a digest."""
    return session.get(Profile, digest)


def newest_named(session: ReadSession, name: str) -> Profile | None:
    """The newest profile of a name."""
    query = select(Profile).where(Profile.name == name).order_by(Profile.created_at.desc(), Profile.digest).limit(1)
    return session.scalars(query).first()


def one_a_family(session: ReadSession) -> Sequence[Profile]:
    """One profile of each target family."""
    first = select(func.min(Profile.digest)).group_by(Profile.family)
    return session.scalars(select(Profile).where(Profile.digest.in_(first)).order_by(Profile.family)).all()


def page(session: ReadSession, limit: int, after: tuple[str, str] | None) -> Sequence[Profile]:
    """Up to ``limit`` profiles by name and digest."""
    query = select(Profile).order_by(Profile.name, Profile.digest).limit(limit)
    if after is not None:
        name, digest = after
        query = query.where(or_(Profile.name > name, (Profile.name == name) & (Profile.digest > digest)))
    return session.scalars(query).all()


def remember(session: WriteSession, profile: HardwareProfile, *, builtin: bool) -> bool:
    """Store a profile unless it exists; returns whether it was new."""
    row = {
        "digest": profile.digest,
        "name": profile.name,
        "title": profile.title,
        "family": profile.family.value,
        "arch": profile.arch,
        "document": dump(profile),
        "builtin": builtin,
        "created_at": now(),
    }
    return session.insert_missing(Profile, [row]) == 1
