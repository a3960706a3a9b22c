"""Whether a rule refuses a candidate, as its record says it: the one question before anything may be an answer.

A refused candidate is shown, and never crowned, stored, locked, served or run in a user's program.
"""

from collections.abc import Mapping, Sequence

from warpwright.solver.domain import Candidate, CandidateKind, Outcome

__all__ = ["VERDICT", "refusal_of", "refused_by_our_rules"]

VERDICT = "verifier"
"""Key in a baseline's report. ``threads`` are those of the schedule that we hold for the compiler's; where the binary has
others, we judged another schedule than the one that runs."""


def refused_by_our_rules(record: Candidate) -> bool:
    """Whether a rule refuses it: it may hang a device, or compute wrong results."""
    return bool(refusal_of(record))


def refusal_of(record: Candidate) -> str:
    """The first rule that refuses it, in words; empty if none does."""
    if record.outcome is Outcome.REFUSED:
        return record.failure.message if record.failure is not None else "refused"
    verdict = record.report.get(VERDICT)
    if (
        record.kind is CandidateKind.SCHEDULED
        or not isinstance(verdict, Mapping)
        or not _is_of_the_binary(record, verdict)
    ):
        return ""
    violations = verdict.get("violations")
    broken = [each for each in violations if isinstance(each, Mapping)] if isinstance(violations, Sequence) else []
    return f"{broken[0].get('family')}: {broken[0].get('message')}" if broken else ""


def _is_of_the_binary(record: Candidate, verdict: Mapping[str, object]) -> bool:
    """Whether the judged schedule has as many threads as the binary is launched with, as far as that is known."""
    launch = record.report.get("launch")
    launched = launch.get("block_threads") if isinstance(launch, Mapping) else None
    return launched is None or verdict.get("threads") == launched
