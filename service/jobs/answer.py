"""A job's answer in one sentence, from its rows. Schedules and certificates are not read: a sentence needs neither."""

from collections.abc import Sequence

from warpwright.service.candidates.rows import evidence_of
from warpwright.service.db.models import CandidateRow, Job
from warpwright.solver.domain import Failure
from warpwright.tuning.answer_sentence import Answered, AnswerSentence, answer_sentence
from warpwright.tuning.ranking import best_of

__all__ = ["answer_of", "baseline_of"]


def answer_of(job: Job, winner: CandidateRow | None, baseline: CandidateRow | None) -> AnswerSentence | None:
    """The sentence; None for a job that has not ended."""
    if job.ended_at is None:
        return None
    summary = job.summary or {}
    tied = [key for key in summary.get("tied", ()) if key != job.best]
    return answer_sentence(
        Answered(
            ending=job.ending or "",
            winner=evidence_of(winner) if winner is not None else None,
            baseline=evidence_of(baseline) if baseline is not None else None,
            tied=len(tied),
            margin=summary.get("margin"),
            partial=job.partial,
            stopped_by=job.stopped_by,
            failure=Failure(**job.error) if job.error else None,
            libraries=summary.get("libraries"),
            families=_families(summary.get("rejected", [])),
        )
    )


def baseline_of(baselines: Sequence[CandidateRow]) -> CandidateRow | None:
    """The best of the compiler's own choices: a tuned answer must never be worse."""
    best = best_of([evidence_of(row) for row in baselines])
    return next((row for row in baselines if best is not None and row.key == best.id), None)


def _families(rejected: Sequence[dict[str, object]]) -> list[str]:
    conflicts = [each for entry in rejected for each in entry["conflicts"]]  # type: ignore[attr-defined]  # JSON that we wrote
    return list(dict.fromkeys(str(each["family"]) for each in conflicts))
