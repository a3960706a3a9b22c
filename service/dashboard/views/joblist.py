"""Jobs with filters, search and cursor pages."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy import or_, select

from warpwright.service.dashboard.views.rows import JobRow, job_rows
from warpwright.service.db import ReadSession
from warpwright.service.db.models import Job, Profile
from warpwright.service.errors import InvalidRequest
from warpwright.service.jobs.states import JobState

__all__ = ["PAGE", "STATES", "JobFilter", "JobPage", "job_page", "profile_choices"]

PAGE = 50
PERIODS = {"hour": timedelta(hours=1), "day": timedelta(days=1), "week": timedelta(weeks=1)}
STATES = ("active", *(state.value for state in JobState))
"""What the list is filtered by; ``active`` is every state that has not ended."""


@dataclass(frozen=True, slots=True)
class JobFilter:
    """The user's filters; empty strings filter nothing. ``text`` is a part of the kernel's name or a job id."""

    text: str = ""
    state: str = ""
    profile: str = ""
    owner: str = ""
    period: str = ""

    def check(self) -> None:
        """Refuses what names no state and no period: a list that ignored it would look like an answer.

        Raises:
            InvalidRequest: ``filter-unknown``.
        """
        for place, value, choices in (("state", self.state, STATES), ("period", self.period, tuple(PERIODS))):
            if value and value not in choices:
                message = f"there is no {place} {value!r}; choose one of {', '.join(choices)}"
                raise InvalidRequest(message, code="filter-unknown", place=f"/query/{place}")

    @property
    def any(self) -> bool:
        """Whether there is any filter."""
        return bool(self.text or self.state or self.profile or self.owner or self.period)


@dataclass(frozen=True, slots=True)
class JobPage:
    """One page and the cursor of the next, empty at the end."""

    rows: Sequence[JobRow]
    following: str


def job_page(session: ReadSession, wanted: JobFilter, before: str, *, size: int = PAGE) -> JobPage:
    """One page of jobs, newest first, older than the cursor."""
    query = select(Job).order_by(Job.id.desc()).limit(size + 1)
    if before:
        query = query.where(Job.id < before)
    if wanted.state == "active":
        query = query.where(Job.ended_at.is_(None))
    elif wanted.state:
        query = query.where(Job.state == wanted.state)
    if wanted.text:
        query = query.where(or_(Job.name.contains(wanted.text, autoescape=True), Job.id == wanted.text))
    if wanted.profile:
        query = query.where(Job.profile_digest.in_(select(Profile.digest).where(Profile.name == wanted.profile)))
    if wanted.owner:
        query = query.where(Job.owner == wanted.owner)
    if wanted.period:
        query = query.where(Job.created_at >= datetime.now(UTC) - PERIODS[wanted.period])
    jobs = session.scalars(query).all()
    return JobPage(job_rows(session, jobs[:size]), jobs[size - 1].id if len(jobs) > size else "")


def profile_choices(session: ReadSession) -> list[str]:
    """Names of the profiles that were used or uploaded."""
    return sorted(set(session.scalars(select(Profile.name).distinct().limit(500))))
