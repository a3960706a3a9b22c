"""Forecast against hardware: how well the model ranks, where it was wrong, and which constraints the compiler contradicts."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

from sqlalchemy import select

from warpwright.service.candidates.sentences import structure_words
from warpwright.service.dashboard.views.contradictions import Contradiction, Judged, false_feasible, false_infeasible
from warpwright.service.db import ReadSession
from warpwright.service.db.models import CandidateRow, Job
from warpwright.service.jobs.states import JobState
from warpwright.solver.domain import CandidateKind, Outcome
from warpwright.solver.forecast.rank_correlation import kendall_tau, top_fraction

__all__ = ["Agreement", "Miss", "ModelPage", "model_page"]

RECENT_JOBS = 30
MEASURED_ROWS = 1500
SHOWN_MISSES = 20
LEAST = 9
"""Fewer measured candidates than this have no order that a rank correlation says anything about."""
MISS = 1.05
"""A forecast that is wrong by at least this factor is a miss."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """How one job's forecasts agree with its measurements. ``top_fraction``: best of all over best of the first eight.

    ``regret`` is how much slower the best forecast was than the best measured. Gains are those of the best over the compiler's
    best, by forecast and as measured; None without both.
    """

    job: str
    name: str
    rules: str
    measured: int
    kendall_tau: float | None
    top_fraction: float
    regret: float
    forecast_gain: float | None
    measured_gain: float | None

    @property
    def meaningful(self) -> bool:
        """Whether there are enough for an order to say something."""
        return self.measured >= LEAST


@dataclass(frozen=True, slots=True)
class Miss:
    """A candidate whose forecast is far from its measurement; ``ratio`` is measured over forecast, after the job's median."""

    job: str
    key: str
    name: str
    kind: str
    structure: str
    forecast_ns: float
    measured_ns: float
    ratio: float


@dataclass(frozen=True, slots=True)
class _Timed:
    """The few columns of a measured candidate that the page needs; whole rows carry schedules and reports."""

    key: str
    kind: str
    forecast_ns: float
    measured_ns: float
    rules: str


@dataclass(frozen=True, slots=True)
class ModelPage:
    """The model page, over the last jobs that measured something."""

    jobs: int
    agreements: Sequence[Agreement]
    misses: Sequence[Miss]
    feasible: Sequence[Contradiction]
    """False feasible: accepted by the verifier, refused by compiler or device."""
    infeasible: Judged
    """False infeasible: refused by the verifier, although it runs."""
    suspects: Sequence[tuple[str, Sequence[Job]]]
    """Families that excluded structures in jobs that the compiler's own choice won: no contradiction, but worth checking."""
    impossible: Sequence[tuple[str, int]]
    """Structures excluded by proof, by rule family."""

    @property
    def tau(self) -> float | None:
        """Median of Kendall's tau over the jobs that have one."""
        known = [each.kendall_tau for each in self.agreements if each.kendall_tau is not None and each.meaningful]
        return median(known) if known else None

    @property
    def regret(self) -> float | None:
        """Median of the regrets."""
        return median([each.regret for each in self.agreements]) if self.agreements else None

    @property
    def least(self) -> int:
        """Measured candidates from which on tau says something."""
        return LEAST

    @property
    def by_rules(self) -> Sequence[tuple[str, int, float | None, float]]:
        """By constraint set: jobs, median tau and median regret; the newest set first."""
        found: dict[str, list[Agreement]] = {}
        for each in self.agreements:
            found.setdefault(each.rules, []).append(each)
        rows = []
        for rules, group in found.items():
            taus = [each.kendall_tau for each in group if each.kendall_tau is not None and each.meaningful]
            rows.append((rules, len(group), median(taus) if taus else None, median([each.regret for each in group])))
        return rows

    @property
    def fraction(self) -> float | None:
        """Median of the top-8 fraction."""
        return median([each.top_fraction for each in self.agreements]) if self.agreements else None

    @property
    def worst(self) -> float | None:
        """The worst top-8 fraction."""
        return min((each.top_fraction for each in self.agreements), default=None)


def model_page(session: ReadSession) -> ModelPage:
    """Figures over the newest ended jobs; bounded, whatever the size of the tables."""
    jobs = session.scalars(
        select(Job).where(Job.state == JobState.DONE).order_by(Job.ended_at.desc()).limit(RECENT_JOBS)
    ).all()
    by_job: dict[str, list[_Timed]] = {}
    measured = select(
        CandidateRow.job_id,
        CandidateRow.key,
        CandidateRow.kind,
        CandidateRow.forecast_ns,
        CandidateRow.measured_ns,
        CandidateRow.constraint_set,
    ).where(
        CandidateRow.job_id.in_([job.id for job in jobs]),
        CandidateRow.outcome == Outcome.MEASURED.value,
        CandidateRow.measured_ns.is_not(None),
        CandidateRow.forecast_ns.is_not(None),
    )
    for row in session.rows(measured.limit(MEASURED_ROWS)):
        timed = _Timed(row.key, row.kind, row.forecast_ns or 0.0, row.measured_ns or 0.0, row.constraint_set)
        by_job.setdefault(row.job_id, []).append(timed)
    agreements, misses = [], []
    for job in jobs:
        rows = by_job.get(job.id, [])
        if len(rows) < 2:
            continue
        agreements.append(_agreement(job, rows))
        misses += _misses(job, rows)
    families = Counter(
        conflict["family"]
        for job in jobs
        for entry in (job.summary or {}).get("rejected", [])
        for conflict in entry["conflicts"]
    )
    misses.sort(key=lambda miss: -max(miss.ratio, 1 / miss.ratio))
    return ModelPage(
        jobs=len(jobs),
        agreements=agreements,
        misses=[_described(session, miss) for miss in misses[:SHOWN_MISSES]],
        feasible=false_feasible(session, jobs),
        infeasible=false_infeasible(session, jobs),
        suspects=_suspects(jobs, by_job),
        impossible=families.most_common(),
    )


def _agreement(job: Job, rows: Sequence[_Timed]) -> Agreement:
    forecasts, times = [timed.forecast_ns for timed in rows], [timed.measured_ns for timed in rows]
    first, fastest = min(rows, key=lambda row: row.forecast_ns), min(times)
    compilers = [row for row in rows if row.kind != CandidateKind.SCHEDULED]
    ours = [row for row in rows if row.kind == CandidateKind.SCHEDULED]
    both = bool(compilers and ours)
    return Agreement(
        job=job.id,
        name=job.name,
        rules=rows[0].rules,
        measured=len(rows),
        kendall_tau=kendall_tau(forecasts, times),
        top_fraction=top_fraction(forecasts, times),
        regret=first.measured_ns / fastest - 1 if fastest else 0.0,
        forecast_gain=_over([row.forecast_ns for row in compilers], [row.forecast_ns for row in ours])
        if both
        else None,
        measured_gain=_over([row.measured_ns for row in compilers], [row.measured_ns for row in ours])
        if both
        else None,
    )


def _over(theirs: Sequence[float], ours: Sequence[float]) -> float | None:
    return min(theirs) / min(ours) if min(ours) else None


def _suspects(jobs: Sequence[Job], by_job: dict[str, list[_Timed]]) -> list[tuple[str, Sequence[Job]]]:
    """If the compiler found something faster than everything that we allowed, what we excluded is worth checking."""
    found: dict[str, list[Job]] = {}
    for job in jobs:
        rows = by_job.get(job.id, [])
        if not rows or min(rows, key=lambda row: row.measured_ns).kind == CandidateKind.SCHEDULED:
            continue
        for family in sorted({c["family"] for e in (job.summary or {}).get("rejected", []) for c in e["conflicts"]}):
            found.setdefault(family, []).append(job)
    return sorted(found.items(), key=lambda item: -len(item[1]))


def _described(session: ReadSession, miss: Miss) -> Miss:
    structure: dict[str, Any] = session.scalar(
        select(CandidateRow.structure).where(CandidateRow.job_id == miss.job, CandidateRow.key == miss.key)
    )
    return replace(miss, structure=structure_words(structure))


def _misses(job: Job, rows: Sequence[_Timed]) -> list[Miss]:
    ratios = [row.measured_ns / row.forecast_ns for row in rows if row.forecast_ns]
    typical = (median(ratios) if ratios else 1.0) or 1.0
    return [
        Miss(
            job=job.id,
            key=row.key,
            name=job.name,
            kind=row.kind,
            structure="",
            forecast_ns=row.forecast_ns,
            measured_ns=row.measured_ns,
            ratio=row.measured_ns / row.forecast_ns / typical,
        )
        for row in rows
        if row.measured_ns and row.forecast_ns and _far(row.measured_ns / row.forecast_ns / typical)
    ]


def _far(ratio: float) -> bool:
    return max(ratio, 1 / ratio) >= MISS
