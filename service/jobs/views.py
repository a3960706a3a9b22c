"""Rows of jobs as wire forms."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from warpwright.service.candidates import repository as candidate_rows
from warpwright.service.candidates.views import view as candidate_view
from warpwright.service.db import ReadSession
from warpwright.service.db.models import CandidateRow, Job, JobEvent, JobSize, JobVariant
from warpwright.service.jobs import repository
from warpwright.service.jobs.answer import answer_of, baseline_of
from warpwright.service.jobs.schemas import (
    AnswerPartView,
    AnswerView,
    AttemptView,
    EventView,
    JobState,
    JobSummary,
    JobView,
    VariantView,
)
from warpwright.solver.domain import Failure

__all__ = ["event_view", "summaries", "view"]


def summaries(session: ReadSession, jobs: Sequence[Job]) -> list[JobSummary]:
    """Jobs in a list."""
    names = repository.profile_names(session, [job.profile_digest for job in jobs])
    return [JobSummary(**_summary(job, names.get(job.profile_digest, ""))) for job in jobs]


def view(session: ReadSession, job: Job) -> JobView:
    """One job with its variants, attempts, winner and baseline."""
    names = repository.profile_names(session, [job.profile_digest])
    summary = job.summary or {}
    winner = candidate_rows.get(session, job.id, job.best) if job.best else None
    baseline = baseline_of(candidate_rows.baselines(session, job.id))
    answer = answer_of(job, winner, baseline)
    return JobView(
        **_summary(job, names.get(job.profile_digest, "")),
        attempt=job.attempt,
        owner=job.owner,
        trace_id=job.trace_id,
        cancel_requested=job.cancel_requested_at is not None,
        engine=job.request["engine"],
        measure=job.request["measure"],
        pins=job.request["pins"],
        build_options=job.request.get("build_options", []),
        budget=job.request["budget"],
        variants=_variants(
            repository.variants(session, job.id), repository.sizes(session, job.id), summary.get("variants", [])
        ),
        rejected=summary.get("rejected", []),
        tied=summary.get("tied", []),
        margin=summary.get("margin"),
        attempts=[
            AttemptView(
                attempt=row.attempt,
                owner=row.owner,
                started_at=row.started_at,
                ended_at=row.ended_at,
                ending=row.ending,
            )
            for row in repository.attempts(session, job.id)
        ],
        winner=candidate_view(session, winner) if winner else None,
        baseline=candidate_view(session, baseline) if baseline else None,
        speedup=_speedup(winner, baseline),
        answer=AnswerView(text=answer.text, parts=[AnswerPartView(**asdict(part)) for part in answer.parts])
        if answer is not None
        else None,
        last_event=job.event_count,
    )


def event_view(event: JobEvent) -> EventView:
    """One event."""
    return EventView(number=event.number, kind=event.kind, at=event.at, attempt=event.attempt, data=event.data)


def _summary(job: Job, profile: str) -> dict[str, Any]:
    return {
        "id": job.id,
        "name": job.name,
        "state": JobState(job.state),
        "priority": job.priority,
        "profile": profile,
        "profile_digest": job.profile_digest,
        "created_at": job.created_at,
        "started_at": job.started_at,
        "ended_at": job.ended_at,
        "done": job.done,
        "total": job.total,
        "ending": job.ending,
        "note": job.note,
        "partial": job.partial,
        "stopped_by": job.stopped_by,
        "best": job.best,
        "error": Failure(**job.error) if job.error else None,
    }


def _variants(
    rows: Sequence[JobVariant], sizes: Mapping[int, Sequence[JobSize]], reports: list[dict[str, Any]]
) -> list[VariantView]:
    by_number = {report["variant"]: report for report in reports}
    return [
        VariantView(
            number=row.number,
            params=row.params,
            ir_digest=row.text_digest,
            ir_hash=row.ir_hash,
            sizes=[size.name for size in sizes.get(row.number, ())],
            kernel=by_number.get(row.number, {}).get("kernel", ""),
            failure=by_number.get(row.number, {}).get("failure"),
        )
        for row in rows
    ]


def _speedup(winner: CandidateRow | None, baseline: CandidateRow | None) -> float | None:
    if winner is None or baseline is None or not winner.measured_ns or not baseline.measured_ns:
        return None
    return baseline.measured_ns / winner.measured_ns
