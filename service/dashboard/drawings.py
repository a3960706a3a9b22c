"""Timeline and memory map of a candidate, drawn on demand: the kernel is read in a child, the schedule is played.

Drawings of ended candidates never change, so the last ones are remembered.
"""

import time
from dataclasses import dataclass
from functools import lru_cache

from service.context import Context
from service.db import ReadSession
from service.db.models import Candidate, JobVariant, Profile
from service.drawing import Drawn, draw_schedule
from service.errors import NotFound
from service.jobs import service as jobs
from service.tuning.toolchain import Patience, StepFailed, Stop
from solver.domain import HardwareProfile, KernelGraph, Schedule, WarpwrightError, load

__all__ = ["drawing_of"]

READ_SECONDS = 30.0
REMEMBERED = 64


@dataclass(frozen=True, slots=True)
class _Asked:
    """One candidate with what is needed to read its kernel."""

    schedule: Schedule | None
    text_digest: str
    profile: HardwareProfile


def drawing_of(context: Context, job_id: str, key: str) -> Drawn:
    """The drawing of a candidate, of the job's best one when ``key`` is empty.

    A kernel that cannot be read here gives the reason in place of a timeline.

    Raises:
        NotFound: ``job-not-found``, ``candidate-not-found``.
    """
    asked = context.database.read(lambda session: _asked(session, job_id, key))
    if asked.schedule is None:
        return Drawn(facts=(("Schedule", "the compiler's own choice"),))
    try:
        return draw_schedule(_graph(context, asked.text_digest, asked.profile), asked.profile, asked.schedule)
    except (StepFailed, WarpwrightError) as error:
        return Drawn(facts=(("No timeline", str(error)),))


def _asked(session: ReadSession, job_id: str, key: str) -> _Asked:
    job = jobs.find(session, job_id)
    row = session.get(Candidate, (job_id, key or job.best or ""))
    if row is None:
        raise NotFound(f"job {job_id} has no candidate {key!r}", code="candidate-not-found")
    variant, profile = session.get(JobVariant, (job_id, row.variant)), session.get(Profile, job.profile_digest)
    if variant is None or profile is None:
        raise NotFound(f"the kernel of job {job_id} is gone", code="job-not-found")
    schedule: Schedule | None = load(Schedule, row.schedule) if row.schedule else None
    return _Asked(schedule, variant.text_digest, load(HardwareProfile, profile.document))


@lru_cache(maxsize=REMEMBERED)
def _graph(context: Context, text_digest: str, profile: HardwareProfile) -> KernelGraph:
    patience = Patience(READ_SECONDS, time.monotonic() + READ_SECONDS, Stop())
    return context.toolchain.read(context.store.get(text_digest).decode(), profile, patience).graph
