"""Events of a running tuning, in the order in which things happen. A closed union; ``kind`` is the name on the wire."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from warpwright.solver.domain import Candidate
from warpwright.tuning.result import Step, VariantReport

__all__ = ["CandidateEnded", "Event", "Phase", "PhaseEntered", "Proposed", "StepStarted", "VariantRead"]


class Phase(StrEnum):
    """What a running tuning is doing; the running states of a job."""

    SOLVING = "solving"
    BUILDING = "building"
    MEASURING = "measuring"


@dataclass(frozen=True, slots=True)
class PhaseEntered:
    """The tuning enters another phase."""

    phase: Phase
    kind: Literal["phase"] = "phase"


@dataclass(frozen=True, slots=True)
class VariantRead:
    """A variant was read into a kernel graph, or refused (``report.failure``)."""

    report: VariantReport
    kind: Literal["variant"] = "variant"


@dataclass(frozen=True, slots=True)
class Proposed:
    """The solver has finished: how many candidates will be tried (baselines included), and how many structures are impossible."""

    total: int
    rejected: int
    kind: Literal["proposed"] = "proposed"


@dataclass(frozen=True, slots=True)
class StepStarted:
    """A candidate enters a step."""

    candidate: str
    step: Step
    kind: Literal["step"] = "step"


@dataclass(frozen=True, slots=True)
class CandidateEnded:
    """A candidate has ended (possibly a second time, if a built candidate was measured later)."""

    candidate: Candidate
    done: int
    total: int
    kind: Literal["candidate"] = "candidate"


Event = PhaseEntered | VariantRead | Proposed | StepStarted | CandidateEnded
