"""Answers over time, for each kernel, shape and device: what changed when, and what became slower."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import median
from typing import Any

from sqlalchemy import select

from warpwright.service.db import ReadSession
from warpwright.service.db.models import CandidateRow, Job, JobVariant, Profile

__all__ = ["Course", "CoursePoint", "HistoryPage", "history_page"]

SHOWN_JOBS = 1000
SHOWN_COURSES = 100
CHANGE = 0.03
"""A time that differs by less from the median of those before is the same: sessions on a warm device differ by 1 to 2 %."""
BEFORE = 5
"""How many earlier times make that median."""


@dataclass(frozen=True, slots=True)
class CoursePoint:
    """One job's measured answer. ``change`` is its time over the median of those before, less one; None for the first."""

    job: str
    at: datetime
    nanoseconds: float
    toolchain: str
    rules: str
    change: float | None
    reasons: tuple[str, ...]
    """Columns of the identity that are not those of the point before, in words."""

    @property
    def changed(self) -> bool:
        """Whether it is a change point."""
        return self.change is not None and abs(self.change) >= CHANGE

    @property
    def slower(self) -> bool:
        """Whether it is a regression."""
        return self.change is not None and self.change >= CHANGE


@dataclass(frozen=True, slots=True)
class Course:
    """The answers for one kernel at one shape on one device, oldest first."""

    name: str
    shape: str
    profile: str
    points: tuple[CoursePoint, ...]

    @property
    def best(self) -> float:
        """The fastest that was ever measured."""
        return min(point.nanoseconds for point in self.points)

    @property
    def now(self) -> CoursePoint:
        """The newest."""
        return self.points[-1]


@dataclass(frozen=True, slots=True)
class HistoryPage:
    """Courses, the one with the newest answer first, and the regressions among their points, the newest first."""

    courses: Sequence[Course]
    regressions: Sequence[tuple[Course, CoursePoint]]
    jobs: int


def history_page(session: ReadSession) -> HistoryPage:
    """The measured answers of the newest ended jobs; bounded, whatever the size of the tables."""
    work = CandidateRow.report["roofline"]["global_bytes"]
    query = (
        select(
            Job.id, Job.name, Job.profile_digest, Job.ended_at, CandidateRow.measured_ns, CandidateRow.toolchain,
            CandidateRow.constraint_set, CandidateRow.protocol, CandidateRow.build_options, work.as_integer(),
        )
        .join(CandidateRow, (CandidateRow.job_id == Job.id) & (CandidateRow.key == Job.best))
        .where(Job.ended_at.is_not(None), CandidateRow.measured_ns.is_not(None))
        .order_by(Job.ended_at.desc())
        .limit(SHOWN_JOBS)
    )  # fmt: skip
    rows = [tuple(row) for row in session.rows(query)]
    shapes = _shapes(session, [row[0] for row in rows])
    names = dict(session.rows(select(Profile.digest, Profile.name).where(Profile.digest.in_({row[2] for row in rows}))))
    groups: dict[tuple[str, str, object], list[tuple[Any, ...]]] = {}
    for row in rows:  # what a launch moves at least is the shape, whatever its tiles; older builds did not record it
        groups.setdefault((row[1], row[2], row[9] or shapes.get(row[0], "")), []).append(row)
    courses = [
        Course(name, shapes.get(found[0][0]) or _moved(found[0][9]), names.get(profile, profile[:19]), _points(found))
        for (name, profile, _), found in groups.items()
    ]
    courses.sort(key=lambda course: course.now.at, reverse=True)
    slower = [(course, point) for course in courses for point in course.points if point.slower]
    slower.sort(key=lambda pair: pair[1].at, reverse=True)
    return HistoryPage(courses[:SHOWN_COURSES], slower[:SHOWN_COURSES], len(rows))


def _points(rows: Sequence[tuple[Any, ...]]) -> tuple[CoursePoint, ...]:
    points: list[CoursePoint] = []
    previous: tuple[Any, ...] = ()
    words = ("toolchain", "rules", "protocol", "build options")
    for job, _, _, at, time, *identity, _ in reversed(rows):
        earlier = [point.nanoseconds for point in points[-BEFORE:]]
        reasons = tuple(name for name, old, new in zip(words, previous, identity, strict=False) if old != new)
        change = time / median(earlier) - 1 if earlier else None
        points.append(CoursePoint(job, at, time, identity[0], identity[1], change, reasons))
        previous = tuple(identity)
    return tuple(points)


def _shapes(session: ReadSession, jobs: Sequence[str]) -> dict[str, str]:
    """The parameters that all variants of a job share, in words: its shape, where the kernel's function has one."""
    query = select(JobVariant.job_id, JobVariant.params).where(JobVariant.job_id.in_(jobs))
    shared: dict[str, dict[str, Any]] = {}
    several: set[str] = set()
    for job, params in session.rows(query):
        if job in shared:
            several.add(job)
            shared[job] = {name: value for name, value in shared[job].items() if params.get(name) == value}
        else:
            shared[job] = dict(params)
    return {job: ", ".join(f"{name} {value}" for name, value in shared[job].items()) for job in several}


def _moved(amount: Any) -> str:
    return f"moves {amount / 1e6:,.1f} MB" if isinstance(amount, int) and amount else ""
