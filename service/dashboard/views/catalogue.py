"""Kernels with their history over toolchains, hardware profiles with the origin of every number, workers, stale results."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import and_, false, func, or_, select

from warpwright.service.dashboard.views.rows import JobRow, job_rows
from warpwright.service.db import ReadSession
from warpwright.service.db.models import Job, JobVariant, Kernel, Profile, StoredResult, Worker
from warpwright.service.errors import NotFound
from warpwright.service.results.store import FAMILY
from warpwright.solver.domain import HardwareProfile, load

__all__ = [
    "KernelPage",
    "ResultRow",
    "kernel_count",
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
    """A stored result with its profile's name and its variant's parameters; ``stale`` has column, stored and current value."""

    result: StoredResult
    profile: str
    stale: tuple[tuple[str, str, str], ...]
    params: Mapping[str, object]
    members: tuple["ResultRow", ...] = ()
    """Of a kernel family: the answers for its variants."""


def kernel_list(session: ReadSession, text: str) -> Sequence[Kernel]:
    """The newest kernels whose name contains the text."""
    query = select(Kernel).order_by(Kernel.created_at.desc()).limit(SHOWN)
    return session.scalars(query.where(Kernel.name.contains(text, autoescape=True)) if text else query).all()


def kernel_page(session: ReadSession, ir_hash: str) -> KernelPage:
    """The page of a kernel or of a kernel family; NotFound ``kernel-unknown``."""
    kernel = session.get(Kernel, ir_hash)
    if kernel is None and ir_hash.startswith(FAMILY):
        return _family_page(session, ir_hash)
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


def _family_page(session: ReadSession, family: str) -> KernelPage:
    """A family has no kernel of its own: its results say which jobs are about it."""
    results = session.scalars(
        select(StoredResult).where(StoredResult.ir == family).order_by(StoredResult.updated_at.desc()).limit(SHOWN)
    ).all()
    if not results:
        raise NotFound(f"there is no kernel family {family!r}", code="kernel-unknown")
    jobs = session.scalars(select(Job).where(Job.id.in_({row.job_id for row in results})).order_by(Job.id.desc())).all()
    names = dict(
        session.rows(select(Profile.digest, Profile.name).where(Profile.digest.in_({row.profile for row in results})))
    )
    return KernelPage(Kernel(ir_hash=family, name=results[0].name), job_rows(session, jobs), results, names)


def kernel_count(session: ReadSession, text: str) -> int:
    """How many kernels there are whose name contains the text."""
    query = select(func.count()).select_from(Kernel)
    return int(session.scalar(query.where(Kernel.name.contains(text, autoescape=True)) if text else query) or 0)


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
    params = _params(session, found)
    rows = [
        ResultRow(
            row,
            names.get(row.profile, ""),
            _stale(row, today.get(row.profile, {})),
            params.get((row.job_id, row.ir), params.get((row.job_id, ""), {}) if row.ir.startswith(FAMILY) else {}),
        )
        for row in found
    ]
    return _families(rows), int(session.scalar(count))


def _params(session: ReadSession, results: Sequence[StoredResult]) -> dict[tuple[str, str], Mapping[str, object]]:
    """Parameters by job and kernel; for a job without a kernel, those that all its variants share."""
    jobs = {row.job_id for row in results}
    query = select(JobVariant.job_id, JobVariant.ir_hash, JobVariant.params).where(JobVariant.job_id.in_(jobs))
    found: dict[tuple[str, str], Mapping[str, object]] = {}
    for job, ir, params in session.rows(query.order_by(JobVariant.number)):
        found.setdefault((job, ir or ""), params)
        shared = found.get((job, ""), params)
        found[job, ""] = {name: value for name, value in shared.items() if name in params and params[name] == value}
    return found


def _families(rows: Sequence[ResultRow]) -> list[ResultRow]:
    """One row a kernel family, with the answers for its variants from the same job inside; others stand for themselves."""
    families = {(row.result.job_id, row.result.profile) for row in rows if row.result.ir.startswith(FAMILY)}
    inside: dict[tuple[str, str], list[ResultRow]] = {}
    for row in rows:
        key = (row.result.job_id, row.result.profile)
        if key in families and not row.result.ir.startswith(FAMILY):
            inside.setdefault(key, []).append(row)
    return [
        replace(row, members=tuple(inside.get((row.result.job_id, row.result.profile), ())))
        if row.result.ir.startswith(FAMILY)
        else row
        for row in rows
        if row.result.ir.startswith(FAMILY) or (row.result.job_id, row.result.profile) not in families
    ]


def _stale(row: StoredResult, today: Mapping[str, str]) -> tuple[tuple[str, str, str], ...]:
    stored = ((name, getattr(row, name), now) for name, now in today.items())
    return tuple((name, before, now) for name, before, now in stored if before != now)
