"""One job: the funnel, its candidates, the winner's evidence, and the charts' data."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import load_only

from warpwright.service.artifacts.store import ArtifactStore
from warpwright.service.candidates import repository as candidate_rows
from warpwright.service.candidates.sentences import agreement, basis_line, by_reason, registers_of
from warpwright.service.dashboard.views.funnel import Complaint, Funnel, complaints, funnel
from warpwright.service.dashboard.views.plan import PlanTables, certificate_of, plan_of
from warpwright.service.dashboard.views.rows import JobRow, job_rows
from warpwright.service.dashboard.views.speed import SpeedOfLight, speed_of_light
from warpwright.service.db import ReadSession
from warpwright.service.db.models import CandidateRow, Job, JobAttempt, JobVariant
from warpwright.service.errors import NotFound
from warpwright.service.jobs import repository
from warpwright.service.jobs import service as jobs
from warpwright.service.jobs.answer import answer_of, baseline_of
from warpwright.solver.domain import (
    Candidate,
    CandidateKind,
    Certificate,
    Conflict,
    Failure,
    Outcome,
    RejectedStructure,
)
from warpwright.tuning.answer_sentence import AnswerSentence
from warpwright.tuning.verdicts import refusal_of

__all__ = [
    "SHOWN_CANDIDATES",
    "JobDetail",
    "candidate_of",
    "job_detail",
    "refusal_in",
    "sorted_candidates",
    "sources_of",
]

SHOWN_CANDIDATES = 500
MEASURED_SHOWN = 1000
"""Measurements whose checks are summed up, the fastest first."""
SOURCES = {
    "tilelang_source": "TileLang source to paste",
    "plain_source": "TileLang source, scheduled by the compiler itself",
    "ascend_source": "Ascend C",
}
COLUMNS = load_only(
    CandidateRow.number, CandidateRow.variant, CandidateRow.kind, CandidateRow.outcome, CandidateRow.status,
    CandidateRow.forecast_ns, CandidateRow.forecast_cycles, CandidateRow.measured_ns, CandidateRow.structure, CandidateRow.report,
    CandidateRow.not_honoured, CandidateRow.failure, CandidateRow.seconds, raiseload=True,
)  # fmt: skip
"""Columns of the table; loading schedules and certificates of all candidates would take most of the page's time."""
SORTS: dict[str, Callable[[CandidateRow], tuple[Any, ...]]] = {
    "number": lambda row: (row.number,),
    "measured": lambda row: (row.measured_ns is None, row.measured_ns or 0.0, row.number),
    "forecast": lambda row: (row.forecast is None, row.forecast or 0.0, row.number),
    "outcome": lambda row: (row.outcome, row.number),
    "kind": lambda row: (row.kind, row.number),
    "registers": lambda row: (_registers(row) is None, _registers(row) or 0, row.number),
}


@dataclass(frozen=True, slots=True)
class JobDetail:
    """Everything on the job page except drawings and sources. ``candidates`` has all of them, by number."""

    job: Job
    row: JobRow
    variants: Sequence[JobVariant]
    refused: Mapping[int, dict[str, Any]]
    attempts: Sequence[JobAttempt]
    candidates: Sequence[CandidateRow]
    best: CandidateRow | None
    certificate: Certificate | None
    plan: PlanTables | None
    artifacts: dict[str, str]
    funnel: tuple[Funnel, ...]
    complaints: tuple[Complaint, ...]
    rejected: Sequence[RejectedStructure]
    reasons: Sequence[tuple[tuple[Conflict, ...], Sequence[RejectedStructure]]]
    """What is impossible, each reason once with all that it excludes."""
    charts: dict[str, Any]
    tied: tuple[CandidateRow, ...]
    """Candidates that are as good as the winner."""
    agreements: Mapping[str, str]
    """How many launches of the checks agreed, by key of those that were measured."""
    refusals: Mapping[str, str]
    """The rule that refuses a compiler's own choice that was built, by key."""
    answer: AnswerSentence | None
    """The answer in one sentence; None until the job has ended."""
    speed: SpeedOfLight | None
    """The times against the device's roofs; None where nothing was measured or the work is not known."""

    @property
    def basis(self) -> str:
        """What the answer rests on."""
        if self.best is None:
            return ""
        words = basis_line(
            self.best.outcome, self.best.measurement, costed=self.crowned, proven=self.certificate is not None
        )
        return words.removeprefix("rests on: ")

    @property
    def crowned(self) -> bool:
        """Whether the answer has a cost: without one nothing was ranked, and there is no winner."""
        return self.best is not None and (self.best.measured_ns is not None or self.best.forecast is not None)

    @property
    def in_cycles(self) -> bool:
        """Whether forecasts are cycles: the device's cost model has no clock."""
        return any(row.forecast_cycles is not None for row in self.candidates)

    @property
    def tied_keys(self) -> frozenset[str]:
        """Who is as good as the winner."""
        return frozenset(row.key for row in self.tied)

    @property
    def place_of(self) -> dict[str, int]:
        """Number of the complaint about each candidate, by key."""
        return {row.key: number for number, each in enumerate(self.complaints, 1) for row in each.rows}


def job_detail(session: ReadSession, job_id: str) -> JobDetail:
    """The page of a job.

    Raises:
        NotFound: ``job-unknown``.
    """
    job = jobs.find(session, job_id)
    best = candidate_rows.get(session, job_id, job.best) if job.best else None
    query = select(CandidateRow).where(CandidateRow.job_id == job_id).order_by(CandidateRow.number).options(COLUMNS)
    candidates = session.scalars(query).all()
    baselines = candidate_rows.baselines(session, job_id)
    summary = job.summary or {}
    rejected = _rejected(summary.get("rejected", []))
    return JobDetail(
        job=job,
        row=job_rows(session, [job])[0],
        variants=repository.variants(session, job_id),
        refused={each["variant"]: each["failure"] for each in summary.get("variants", []) if each.get("failure")},
        attempts=repository.attempts(session, job_id),
        candidates=candidates,
        best=best,
        certificate=certificate_of(best.certificate) if best else None,
        plan=plan_of(best.schedule) if best and best.schedule else None,
        artifacts=dict(candidate_rows.artifacts(session, job_id, best.key)) if best else {},
        funnel=funnel(candidates, rejected),
        complaints=complaints(candidates),
        rejected=rejected,
        reasons=by_reason(rejected),
        charts=_charts(candidates, job.best),
        tied=tuple(row for row in candidates if row.key in summary.get("tied", ()) and row.key != job.best),
        agreements=_agreements(session, job_id),
        refusals={
            row.key: words for row in candidates if row.outcome != Outcome.REFUSED and (words := refusal_in(row))
        },
        answer=answer_of(job, best, baseline_of(baselines)),
        speed=speed_of_light(best, baselines, summary.get("libraries", {})),
    )


def _rejected(entries: Sequence[Mapping[str, Any]]) -> list[RejectedStructure]:
    """Stored structures as values; a field of a conflict that this version does not know is left out."""
    known = {field.name for field in fields(Conflict)}
    return [
        RejectedStructure(
            entry["variant"],
            entry["structure"],
            tuple(
                Conflict(**{name: conflict[name] for name in known & conflict.keys()})
                for conflict in entry["conflicts"]
            ),
        )
        for entry in entries
    ]


def _agreements(session: ReadSession, job_id: str) -> dict[str, str]:
    query = select(CandidateRow.key, CandidateRow.measurement).where(
        CandidateRow.job_id == job_id, CandidateRow.outcome == Outcome.MEASURED.value
    )
    rows = session.rows(query.order_by(CandidateRow.measured_ns).limit(MEASURED_SHOWN))
    return {str(key): words for key, measurement in rows if (words := agreement(measurement))}


def refusal_in(row: CandidateRow) -> str:
    """The rule that refuses a row's candidate, in words; empty if none does."""
    kind, outcome = CandidateKind(row.kind), Outcome(row.outcome)
    failure = Failure(**row.failure) if row.failure else None
    return refusal_of(Candidate(row.key, row.variant, kind, outcome, report=row.report, failure=failure))


def sources_of(store: ArtifactStore, artifacts: Mapping[str, str]) -> list[tuple[str, str]]:
    """The winner's readable sources with their titles; one that retention removed is left out."""
    found = []
    for name, title in SOURCES.items():
        if name in artifacts:
            try:
                found.append((title, store.get(artifacts[name]).decode("utf-8", "replace")))
            except NotFound:
                continue
    return found


def candidate_of(session: ReadSession, job_id: str, key: str) -> tuple[CandidateRow, dict[str, str]]:
    """A candidate and its artifacts by product name; NotFound ``candidate-unknown``."""
    row = candidate_rows.get(session, job_id, key)
    if row is None:
        raise NotFound(f"job {job_id[:80]} has no candidate {key[:80]!r}", code="candidate-unknown")
    return row, dict(candidate_rows.artifacts(session, job_id, key))


def sorted_candidates(rows: Sequence[CandidateRow], order: str, descending: bool) -> list[CandidateRow]:
    """Sort the table; an unknown column means the order of ending. Candidates without the value come last in both directions."""
    by = SORTS.get(order, SORTS["number"])
    known = [row for row in rows if by(row)[0] is not True]
    missing = [row for row in rows if by(row)[0] is True]
    return [*sorted(known, key=by, reverse=descending), *sorted(missing, key=by)]


def _registers(row: CandidateRow) -> int | None:
    registers = registers_of(row.report)[0]
    return int(registers) if registers.isdigit() else None


def _charts(rows: Sequence[CandidateRow], best: str | None) -> dict[str, Any]:
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
        if (
            row.outcome == Outcome.MEASURED
            and row.measured_ns
            and (not history or row.measured_ns / 1000 < history[-1][1])
        ):
            history.append([row.number, round(row.measured_ns / 1000, 3)])
    return {"scatter": points, "history": history, "total": len(rows)}
