"""One job: the funnel with a reason at every loss, its candidates, and what the charts draw."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select

from service.candidates import repository as candidate_rows
from service.dashboard.views.rows import JobRow, job_rows
from service.db import ReadSession
from service.db.models import Candidate, Job, JobAttempt, JobVariant
from service.errors import NotFound
from service.jobs import repository

__all__ = ["Funnel", "JobDetail", "Loss", "candidate_of", "job_detail", "sorted_candidates"]

SHOWN_CANDIDATES = 500
BEFORE_BUILD = frozenset({"refused", "skipped", "not_applicable", "infrastructure", "solved"})
NOT_BUILT = BEFORE_BUILD | {"compile_failed", "over_resource", "not_honoured"}
SORTS: dict[str, Callable[[Candidate], tuple[Any, ...]]] = {
    "number": lambda row: (row.number,),
    "measured": lambda row: (row.measured_ns is None, row.measured_ns or 0.0, row.number),
    "forecast": lambda row: (row.forecast_ns is None, row.forecast_ns or 0.0, row.number),
    "outcome": lambda row: (row.outcome, row.number),
    "kind": lambda row: (row.kind, row.number),
}


@dataclass(frozen=True, slots=True)
class Loss:
    """Candidates or structures lost at a step for one reason, with one example's words."""

    reason: str
    count: int
    example: str


@dataclass(frozen=True, slots=True)
class Funnel:
    """One step: how many are left after it, and who was lost on the way."""

    name: str
    left: int
    losses: tuple[Loss, ...]


@dataclass(frozen=True, slots=True)
class JobDetail:
    """Everything on the job page but drawings."""

    job: Job
    row: JobRow
    variants: Sequence[JobVariant]
    attempts: Sequence[JobAttempt]
    candidates: Sequence[Candidate]
    best: Candidate | None
    artifacts: dict[str, str]
    funnel: tuple[Funnel, ...]
    rejected: list[dict[str, Any]]
    charts: dict[str, Any]


def job_detail(session: ReadSession, job_id: str) -> JobDetail:
    """The page of a job.

    Raises:
        NotFound: ``job-not-found``.
    """
    job = repository.job(session, job_id)
    if job is None:
        raise NotFound(f"there is no job {job_id!r}", code="job-not-found")
    candidates = candidate_rows.page(session, job_id, SHOWN_CANDIDATES)
    best = next((row for row in candidates if row.key == job.best), None)
    rejected = list((job.summary or {}).get("rejected", []))
    return JobDetail(
        job=job,
        row=job_rows(session, [job])[0],
        variants=repository.variants(session, job_id),
        attempts=repository.attempts(session, job_id),
        candidates=candidates,
        best=best,
        artifacts=dict(candidate_rows.artifacts(session, job_id, best.key)) if best else {},
        funnel=_funnel(candidates, rejected),
        rejected=rejected,
        charts=_charts(candidates, job.best),
    )


def candidate_of(session: ReadSession, job_id: str, key: str) -> tuple[Candidate, dict[str, str]]:
    """A candidate and its artifacts by product name; NotFound ``candidate-not-found``."""
    row = session.scalars(select(Candidate).where(Candidate.job_id == job_id, Candidate.key == key)).first()
    if row is None:
        raise NotFound(f"job {job_id} has no candidate {key!r}", code="candidate-not-found")
    return row, dict(candidate_rows.artifacts(session, job_id, key))


def sorted_candidates(rows: Sequence[Candidate], order: str, descending: bool) -> list[Candidate]:
    """The table's order; an unknown column means order of ending."""
    return sorted(rows, key=SORTS.get(order, SORTS["number"]), reverse=descending)


def _funnel(rows: Sequence[Candidate], rejected: Sequence[dict[str, Any]]) -> tuple[Funnel, ...]:
    steps: tuple[tuple[str, Callable[[Candidate], bool]], ...] = (
        ("generated", lambda row: True),
        ("legal", lambda row: row.outcome not in ("refused", "not_applicable")),
        ("built", lambda row: row.outcome not in NOT_BUILT and bool(row.report or row.outcome == "compiled")),
        ("right", lambda row: row.outcome in ("measured", "contended")),
        ("measured", lambda row: row.outcome == "measured" and row.measured_ns is not None),
    )
    left, funnel = list(rows), []
    for name, keeps in steps:
        kept = [row for row in left if keeps(row)]
        lost = [row for row in left if not keeps(row)]
        losses = _losses(lost)
        if name == "legal" and rejected:
            families = Counter(c["family"] for entry in rejected for c in entry["conflicts"])
            words = ", ".join(f"{family} {count}" for family, count in families.most_common())
            losses = (Loss("proven impossible before they became candidates", len(rejected), words), *losses)
        funnel.append(Funnel(name, len(kept), losses))
        left = kept
    return tuple(funnel)


def _losses(rows: Sequence[Candidate]) -> tuple[Loss, ...]:
    groups: dict[str, list[Candidate]] = {}
    for row in rows:
        code = row.failure["code"] if row.failure else row.outcome
        groups.setdefault(f"{row.outcome.replace('_', ' ')}: {code}", []).append(row)
    ranked = sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))
    return tuple(Loss(reason, len(found), _words_of(found[0])) for reason, found in ranked)


def _words_of(row: Candidate) -> str:
    if row.failure:
        return str(row.failure["message"])[:300]
    return "; ".join(map(str, row.not_honoured))[:300]


def _charts(rows: Sequence[Candidate], best: str | None) -> dict[str, Any]:
    """Scatter of forecast against measured time in microseconds, and the best time after each candidate."""
    points = [
        {
            "x": round(row.forecast_ns / 1000, 3),
            "y": round(row.measured_ns / 1000, 3),
            "kind": row.kind,
            "name": " ".join(f"{key} {value}" for key, value in row.structure.items()) or row.kind,
            "best": row.key == best,
        }
        for row in rows
        if row.forecast_ns and row.measured_ns
    ]
    history: list[list[float]] = []
    for row in rows:
        if row.outcome == "measured" and row.measured_ns and (not history or row.measured_ns / 1000 < history[-1][1]):
            history.append([row.number, round(row.measured_ns / 1000, 3)])
    return {"scatter": points, "history": history, "total": len(rows)}
