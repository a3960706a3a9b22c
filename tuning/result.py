"""The result of a tuning: every candidate with its outcome, the best one, and what was not done."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from warpwright.solver.domain import Candidate, Failure, RejectedStructure

__all__ = ["Ending", "Step", "TuneResult", "VariantReport"]


class Step(StrEnum):
    """Steps of one candidate, in order."""

    VERIFY = "verify"
    MATERIALIZE = "materialize"
    COMPILE = "compile"
    MEASURE = "measure"


class Ending(StrEnum):
    """How a tuning ended."""

    TUNED = "tuned"
    INFEASIBLE = "infeasible"
    """Proven: no legal schedule under these pins on this device; ``rejected`` has the families and numbers."""
    NOT_APPLICABLE = "not_applicable"
    """No schedule can express the kernel; the baselines are the answer."""
    UNKNOWN = "unknown"
    """The solver's budget ended before it found or excluded a schedule."""


@dataclass(frozen=True, slots=True)
class VariantReport:
    """The outcome of one variant: its kernel's identity, or the reason why it was refused."""

    variant: int
    params: Mapping[str, object]
    kernel: str = ""
    ir_hash: str = ""
    failure: Failure | None = None


@dataclass(frozen=True, slots=True)
class TuneResult:
    """The answer. ``best`` is the winner's id: the fastest measured, else the best forecast among the built.

    ``partial`` says that the job was stopped (cancel or budget) and the answer is the best known by then.
    """

    ending: Ending
    best: str | None
    candidates: tuple[Candidate, ...]
    variants: tuple[VariantReport, ...]
    rejected: tuple[RejectedStructure, ...] = ()
    partial: bool = False
    stopped_by: str = ""
    note: str = ""
    """``measured``, or what is missing: ``compiled, not measured``, ``lowered, not compiled, not measured``, ..."""
    failure: Failure | None = None

    def candidate(self, candidate_id: str) -> Candidate:
        """The candidate with this id; KeyError if there is none."""
        for candidate in self.candidates:
            if candidate.id == candidate_id:
                return candidate
        raise KeyError(candidate_id)
