"""Where compiler and device contradicted our constraints: false feasible and false infeasible, by rule family.

False feasible: the verifier accepted a schedule, but it was not built, not honoured, hung, or was wrong.
False infeasible: the verifier refuses the compiler's own choice, but that was built, found correct and timed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select

from warpwright.service.db import ReadSession
from warpwright.service.db.models import CandidateRow, Job
from warpwright.solver.domain import BASELINES, CandidateKind, Outcome
from warpwright.tuning.verdicts import VERDICT

__all__ = ["Case", "Contradiction", "Judged", "false_feasible", "false_infeasible"]

FAMILY_OF_CODE = {
    "instruction-needs-registers": "register_pool",
    "register-request-ignored": "register_pool",
    "register-allocation-failed": "register_need",
    "wgmma-serialized": "register_need",
    "spills": "register_need",
}
"""The family that should have excluded each error of the assembler (codes of ``lowering/compile/ptxas.py``)."""
FAMILY_OF_OUTCOME: dict[Outcome, str] = {
    Outcome.OVER_RESOURCE: "shared_memory",
    Outcome.LAUNCH_FAILED: "occupancy",
    Outcome.TIMED_OUT: "deadlock",
    Outcome.NOT_HONOURED: "placement",
}
"""If there is no specific code: the family whose rule the outcome contradicts first."""
UNATTRIBUTED = (Outcome.CRASHED, Outcome.WRONG_RESULT, Outcome.COMPILE_FAILED)
"""A wrong result and a crash do not say which rule was missing; without a code, only what they were is said."""
SHOWN_CASES = 5
ROWS = 5000


@dataclass(frozen=True, slots=True)
class Case:
    """One contradicting candidate, for a link."""

    job: str
    key: str
    name: str


@dataclass(frozen=True, slots=True)
class Contradiction:
    """One family, what happened, how often, an example message, and some candidates."""

    family: str
    reason: str
    count: int
    example: str
    cases: tuple[Case, ...]


@dataclass(frozen=True, slots=True)
class Judged:
    """The compiler's choices that ran: how many, how many of them the verifier judged, and how many of those it refuses."""

    ran: int
    judged: int
    refused: int
    families: tuple[Contradiction, ...]
    others: int
    """Choices whose binary has another number of threads than the judged schedule, so that the verdict says nothing."""


class _Groups:
    def __init__(self) -> None:
        self._found: dict[tuple[str, str], tuple[list[Case], str]] = {}

    def add(self, family: str, reason: str, case: Case, example: str) -> None:
        cases, _ = self._found.setdefault((family, reason), ([], example))
        cases.append(case)

    def ranked(self) -> tuple[Contradiction, ...]:
        ranked = sorted(self._found.items(), key=lambda item: (-len(item[1][0]), item[0]))
        return tuple(
            Contradiction(family, reason, len(cases), example, tuple(cases[:SHOWN_CASES]))
            for (family, reason), (cases, example) in ranked
        )


def false_feasible(session: ReadSession, jobs: Sequence[Job]) -> tuple[Contradiction, ...]:
    """Accepted schedules of these jobs that compiler or device refused, most frequent first."""
    names = {job.id: job.name for job in jobs}
    rows = session.rows(
        select(
            CandidateRow.job_id,
            CandidateRow.key,
            CandidateRow.number,
            CandidateRow.outcome,
            CandidateRow.failure,
            CandidateRow.report,
        )
        .where(
            CandidateRow.job_id.in_(names),
            CandidateRow.kind == CandidateKind.SCHEDULED.value,
            CandidateRow.outcome.in_([each.value for each in (*FAMILY_OF_OUTCOME, *UNATTRIBUTED)]),
        )
        .limit(ROWS)
    )
    groups = _Groups()
    for job_id, key, number, outcome, failure, report in rows:
        if outcome == Outcome.TIMED_OUT and not report:
            continue  # the compiler took too long, which says nothing about the schedule
        code, message = str((failure or {}).get("code", "")), str((failure or {}).get("message", ""))
        family = FAMILY_OF_CODE.get(code) or FAMILY_OF_OUTCOME.get(Outcome(outcome), "none known")
        same = not code or code.replace("-", "_") == outcome
        reason = outcome if same else f"{outcome}: {code}"
        groups.add(family, reason, Case(job_id, key, f"{names[job_id]} {number}"), message[:300])
    return groups.ranked()


def false_infeasible(session: ReadSession, jobs: Sequence[Job]) -> Judged:
    """The compiler's own choices that ran in these jobs, against the verifier's verdict on each."""
    names = {job.id: job.name for job in jobs}
    rows = session.rows(
        select(CandidateRow.job_id, CandidateRow.key, CandidateRow.kind, CandidateRow.report)
        .where(
            CandidateRow.job_id.in_(names),
            CandidateRow.kind.in_([kind.value for kind in BASELINES]),
            CandidateRow.outcome == Outcome.MEASURED.value,
        )
        .limit(ROWS)
    )
    groups, judged, refused, others = _Groups(), 0, 0, 0
    for job_id, key, kind, report in rows:
        verdict = report.get(VERDICT)
        if not isinstance(verdict, Mapping):
            continue
        if _differs(report, verdict):
            others += 1
            continue
        judged += 1
        broken = {each["family"]: each for each in reversed(verdict["violations"])}
        refused += bool(broken)
        for family, violation in broken.items():
            case = Case(job_id, key, f"{names[job_id]} {kind.replace('_', ' ')}")
            groups.add(family, violation["rule"], case, violation["message"][:300])
    return Judged(len(rows), judged, refused, groups.ranked(), others)


def _differs(report: Mapping[str, Any], verdict: Mapping[str, Any]) -> bool:
    """Whether the binary was launched with another number of threads than the judged schedule has."""
    launch = report.get("launch")
    threads = launch.get("block_threads") if isinstance(launch, Mapping) else None
    return threads is not None and threads != verdict["threads"]
