"""Jobs as rows of a table, with the winner's time and its speedup over the compiler's own best choice."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import or_, select

from warpwright.service.db import ReadSession
from warpwright.service.db.models import CandidateRow, Job, Profile
from warpwright.service.jobs.states import ACTIVE
from warpwright.solver.domain import BASELINES, CandidateKind, Outcome

__all__ = ["JobRow", "job_rows"]


@dataclass(frozen=True, slots=True)
class JobRow:
    """One job in a list. Times are nanoseconds of one launch; ``measured`` distinguishes a measurement from a forecast."""

    id: str
    name: str
    profile: str
    state: str
    ending: str
    note: str
    partial: bool
    done: int
    total: int | None
    best_ns: float | None
    best_cycles: int | None
    """The winner's forecast, where the cost model has no clock."""
    measured: bool
    gain: float | None
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None

    @property
    def active(self) -> bool:
        """Whether the job has not ended."""
        return self.state in ACTIVE

    @property
    def percent(self) -> int:
        """Share of the candidates that ended, 0 while their number is unknown."""
        return min(100, round(100 * self.done / self.total)) if self.total else 0


def job_rows(session: ReadSession, jobs: Sequence[Job]) -> list[JobRow]:
    """Rows for these jobs, in their order, with two queries for all of them."""
    names = dict(
        session.rows(
            select(Profile.digest, Profile.name).where(Profile.digest.in_({job.profile_digest for job in jobs}))
        )
    )
    wanted = or_(
        CandidateRow.kind.in_([kind.value for kind in BASELINES]),
        CandidateRow.key.in_({job.best for job in jobs if job.best}),
    )
    columns = select(
        CandidateRow.job_id,
        CandidateRow.key,
        CandidateRow.kind,
        CandidateRow.measured_ns,
        CandidateRow.forecast_ns,
        CandidateRow.forecast_cycles,
        CandidateRow.outcome,
    ).where(CandidateRow.job_id.in_([job.id for job in jobs]), wanted)
    best: dict[str, tuple[float | None, int | None, bool]] = {}
    baselines: dict[str, list[tuple[float | None, float | None]]] = {}
    winners = {job.id: job.best for job in jobs}
    for job_id, key, kind, measured, forecast, cycles, outcome in session.rows(columns):
        if winners[job_id] == key:
            best[job_id] = (measured if measured is not None else forecast, cycles, measured is not None)
        if kind != CandidateKind.SCHEDULED and Outcome(outcome).usable:
            baselines.setdefault(job_id, []).append((measured, forecast if forecast is not None else cycles))
    rows = []
    for job in jobs:
        time, cycles, measured = best.get(job.id, (None, None, False))
        rows.append(
            JobRow(
                id=job.id,
                name=job.name,
                profile=names.get(job.profile_digest, job.profile_digest[:19]),
                state=job.state,
                ending=job.ending or "",
                note=job.note,
                partial=job.partial,
                done=job.done,
                total=job.total,
                best_ns=time,
                best_cycles=cycles if time is None else None,
                measured=measured,
                gain=_gain(time if time is not None else cycles, measured, baselines.get(job.id, [])),
                created_at=job.created_at,
                started_at=job.started_at,
                ended_at=job.ended_at,
            )
        )
    return rows


def _gain(best: float | None, measured: bool, baselines: list[tuple[float | None, float | None]]) -> float | None:
    """Best baseline's time over the winner's; measured with measured, forecast with forecast, never mixed."""
    times = [pair[0 if measured else 1] for pair in baselines]
    known = [time for time in times if time]
    return min(known) / best if best and known else None
