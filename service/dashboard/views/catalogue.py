"""Kernels with their history over toolchains, hardware profiles with the origin of every number, workers, stale results."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import and_, false, func, or_, select

from warpwright.service.dashboard.views.rows import JobRow, job_rows
from warpwright.service.db import ReadSession
from warpwright.service.db.models import Job, JobVariant, Kernel, Profile, StoredResult, Worker
from warpwright.service.errors import NotFound
from warpwright.solver.domain import HardwareProfile, load

__all__ = [
    "KernelPage",
    "ResultRow",
    "kernel_list",
    "kernel_page",
    "profile_list",
    "profile_page",
    "results_of",
    "worker_list",
]

SHOWN = 100


@dataclass(frozen=True, slots=True)
class KernelPage:
    """One kernel: its jobs and its stored results per toolchain and profile."""

    kernel: Kernel
    jobs: Sequence[JobRow]
    results: Sequence[StoredResult]
    profiles: dict[str, str]


@dataclass(frozen=True, slots=True)
class ResultRow:
    """A stored result with its profile's name; ``stale`` has column, stored value and current value."""

    result: StoredResult
    profile: str
    stale: tuple[tuple[str, str, str], ...]


def kernel_list(session: ReadSession, text: str) -> Sequence[Kernel]:
    """The newest kernels whose name contains the text."""
    query = select(Kernel).order_by(Kernel.created_at.desc()).limit(SHOWN)
    return session.scalars(query.where(Kernel.name.contains(text, autoescape=True)) if text else query).all()


def kernel_page(session: ReadSession, ir_hash: str) -> KernelPage:
    """A kernel's page; NotFound ``kernel-unknown``."""
    kernel = session.get(Kernel, ir_hash)
    if kernel is None:
        raise NotFound(f"there is no kernel {ir_hash!r}", code="kernel-unknown")
    jobs = session.scalars(
        select(Job)
        .where(Job.id.in_(select(JobVariant.job_id).where(JobVariant.ir_hash == ir_hash)))
        .order_by(Job.id.desc())
        .limit(SHOWN)
    ).all()
    results = session.scalars(
        select(StoredResult).where(StoredResult.ir == ir_hash).order_by(StoredResult.updated_at.desc()).limit(SHOWN)
    ).all()
    digests = {result.profile for result in results}
    names = dict(session.rows(select(Profile.digest, Profile.name).where(Profile.digest.in_(digests))))
    return KernelPage(kernel, job_rows(session, jobs), results, names)


def profile_list(session: ReadSession) -> Sequence[Profile]:
    """Stored profiles by name, newest version first."""
    return session.scalars(select(Profile).order_by(Profile.name, Profile.created_at.desc()).limit(500)).all()


def profile_page(session: ReadSession, digest: str) -> Profile:
    """A profile's page; NotFound ``profile-unknown``."""
    profile = session.get(Profile, digest)
    if profile is None:
        raise NotFound(f"there is no profile with the digest {digest!r}", code="profile-unknown")
    return profile


def worker_list(session: ReadSession) -> Sequence[Worker]:
    """Workers by name."""
    return session.scalars(select(Worker).order_by(Worker.id).limit(500)).all()


def results_of(
    session: ReadSession, current: Callable[[HardwareProfile], Mapping[str, str]], stale: bool
) -> tuple[Sequence[ResultRow], int]:
    """Stored results, newest first, each with the reasons why it is stale, and their number; with ``stale`` the stale ones only.

    ``current`` gives the values of the columns that can become stale, for a tuning now.
    """
    used = session.scalars(select(StoredResult.profile).distinct().limit(500)).all()
    profiles = session.scalars(select(Profile).where(Profile.digest.in_(used))).all()
    today = {row.digest: current(load(HardwareProfile, row.document)) for row in profiles}
    names = {row.digest: row.name for row in profiles}
    query = select(StoredResult).order_by(StoredResult.updated_at.desc()).limit(SHOWN)
    count = select(func.count()).select_from(StoredResult)
    if stale:
        differs = (
            and_(
                StoredResult.profile == profile,
                or_(*(getattr(StoredResult, name) != now for name, now in columns.items())),
            )
            for profile, columns in today.items()
        )
        only = or_(false(), *differs)
        query, count = query.where(only), count.where(only)
    found = session.scalars(query).all()
    rows = [ResultRow(row, names.get(row.profile, ""), _stale(row, today.get(row.profile, {}))) for row in found]
    return rows, int(session.scalar(count))


def _stale(row: StoredResult, today: Mapping[str, str]) -> tuple[tuple[str, str, str], ...]:
    stored = ((name, getattr(row, name), now) for name, now in today.items())
    return tuple((name, before, now) for name, before, now in stored if before != now)
