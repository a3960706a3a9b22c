"""Where candidates were lost: the funnel with a reason at every step, and the messages of compilers and devices, each once."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from warpwright.service.db.models import CandidateRow
from warpwright.solver.domain import CandidateKind, Outcome, RejectedStructure

__all__ = ["Complaint", "Funnel", "Loss", "complaints", "funnel"]

NOT_BUILT = frozenset(
    {
        Outcome.REFUSED,
        Outcome.SKIPPED,
        Outcome.NOT_APPLICABLE,
        Outcome.INFRASTRUCTURE,
        Outcome.SOLVED,
        Outcome.COMPILE_FAILED,
        Outcome.OVER_RESOURCE,
        Outcome.NOT_HONOURED,
    }
)
MEANING: dict[str, str] = {
    Outcome.COMPILED: "built and read back; no device of this profile was available, so nothing was run",
    Outcome.SOLVED: "lowered; no compiler for this device was available",
    Outcome.SKIPPED: "the budget ended or the job was stopped before it was built",
}
"""Explanations of outcomes that are not failures."""


@dataclass(frozen=True, slots=True)
class Loss:
    """Candidates or structures lost at a step for one reason, with one example message."""

    reason: str
    count: int
    example: str


@dataclass(frozen=True, slots=True)
class Funnel:
    """One step: how many are left after it, and which were lost at it."""

    name: str
    left: int
    """Of the solver's schedules."""
    compilers: int
    """Of the compiler's own choices, which the solver did not make and nothing proved legal."""
    losses: tuple[Loss, ...]
    summary: str
    """How many stopped here, in words: lost, or not continued without a failure."""


@dataclass(frozen=True, slots=True)
class Complaint:
    """One message of a verifier, compiler, assembler or device, and the candidates that it is about."""

    outcome: str
    code: str
    message: str
    place: str
    detail: str
    not_honoured: tuple[str, ...]
    rows: tuple[CandidateRow, ...]


def funnel(rows: Sequence[CandidateRow], rejected: Sequence[RejectedStructure]) -> tuple[Funnel, ...]:
    """Generated, legal, built, correct, measured; what was proven impossible never became a candidate."""
    steps: tuple[tuple[str, Callable[[CandidateRow], bool]], ...] = (
        ("generated", lambda row: True),
        ("legal", lambda row: row.outcome not in (Outcome.REFUSED, Outcome.NOT_APPLICABLE)),
        ("built", lambda row: row.outcome not in NOT_BUILT and bool(row.report or row.outcome == Outcome.COMPILED)),
        ("right", lambda row: row.outcome in (Outcome.MEASURED, Outcome.CONTENDED)),
        ("measured", lambda row: row.outcome == Outcome.MEASURED and row.measured_ns is not None),
    )
    left, found = list(rows), []
    for name, keeps in steps:
        kept = [row for row in left if keeps(row)]
        lost = [row for row in left if not keeps(row)]
        losses = _losses(lost)
        summary: list[str] = []
        if name == "legal" and rejected:
            families = Counter(family for entry in rejected for family in {c.family for c in entry.conflicts})
            words = ", ".join(f"{family} {count}" for family, count in families.most_common())
            losses = (Loss("proven impossible before they became candidates", len(rejected), words), *losses)
            summary.append(f"{len(rejected)} structure{'s' if len(rejected) > 1 else ''} proven impossible")
        if name == "built" and (spent := sum(float(row.seconds.get("compile") or 0.0) for row in left)) >= 1.0:
            summary.append(f"compiling took {_lasted(spent)}")
        if lost:
            summary.append(f"{len(lost)} {'go no further' if all(row.outcome in MEANING for row in lost) else 'lost'}")
        ours = sum(row.kind == CandidateKind.SCHEDULED for row in kept)
        found.append(Funnel(name, ours, len(kept) - ours, losses, ", ".join(summary)))
        left = kept
    return tuple(found)


def _lasted(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def complaints(rows: Sequence[CandidateRow]) -> tuple[Complaint, ...]:
    """Error messages, the most frequent first; equal messages are one complaint."""
    groups: dict[tuple[str, ...], list[CandidateRow]] = {}
    for row in rows:
        if row.failure or row.not_honoured:
            failure = row.failure or {}
            texts = (str(failure.get(name) or "") for name in ("code", "message", "place", "detail"))
            groups.setdefault((row.outcome, *texts, *map(str, row.not_honoured)), []).append(row)
    ranked = sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))
    return tuple(
        Complaint(outcome, code, message, place, detail, tuple(gaps), tuple(found))
        for (outcome, code, message, place, detail, *gaps), found in ranked
    )


def _losses(rows: Sequence[CandidateRow]) -> tuple[Loss, ...]:
    groups: dict[str, list[CandidateRow]] = {}
    for row in rows:
        words = row.outcome.replace("_", " ")
        code = str(row.failure["code"]) if row.failure else ""
        # A code that only repeats the outcome is left out.
        same = code.replace("-", " ") == words
        groups.setdefault(words if same or not code else f"{words}: {code}", []).append(row)
    ranked = sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))
    return tuple(Loss(reason, len(found), _words_of(found[0])) for reason, found in ranked)


def _words_of(row: CandidateRow) -> str:
    if row.failure:
        return str(row.failure["message"])[:300]
    if row.not_honoured:
        return "; ".join(map(str, row.not_honoured))[:300]
    return MEANING.get(row.outcome, "")
