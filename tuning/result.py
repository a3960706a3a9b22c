"""The result of a tuning: every candidate with its outcome, the best one, and what was not done."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from pydantic import JsonValue

from warpwright.solver.domain import Certificate, Conflict, Schedule

__all__ = [
    "BASELINES",
    "CandidateKind",
    "CandidateRecord",
    "Ending",
    "Failure",
    "Outcome",
    "Product",
    "RejectedStructure",
    "Step",
    "TuneResult",
    "VariantReport",
]


class CandidateKind(StrEnum):
    """Who chose the schedule: Warpwright's solver, or TileLang itself in one of its three ways (the baselines)."""

    SCHEDULED = "scheduled"
    DEFAULT = "default"
    ROLE_BASED = "role_based"
    UNSPECIALIZED = "unspecialized"


BASELINES = (CandidateKind.DEFAULT, CandidateKind.ROLE_BASED, CandidateKind.UNSPECIALIZED)


class Outcome(StrEnum):
    """How a candidate ended. A closed list, stored by name, append only."""

    MEASURED = "measured"
    COMPILED = "compiled"
    """Built and read back, but not timed: no device of this profile was available."""
    SOLVED = "solved"
    """Verified, but not built: no compiler for the target was available, or only a schedule was requested."""
    REFUSED = "refused"
    """The independent verifier refused it; it was never lowered."""
    NOT_HONOURED = "not_honoured"
    WRONG_RESULT = "wrong_result"
    REFERENCE_FAILED = "reference_failed"
    COMPILE_FAILED = "compile_failed"
    OVER_RESOURCE = "over_resource"
    LAUNCH_FAILED = "launch_failed"
    TIMED_OUT = "timed_out"
    CRASHED = "crashed"
    DEVICE_LOST = "device_lost"
    NOT_APPLICABLE = "not_applicable"
    CONTENDED = "contended"
    """Another process used the device while it was timed; such a time never wins and is never cached."""
    INFRASTRUCTURE = "infrastructure"
    """A failure of Warpwright or the machine (child killed for memory, protocol broken): says nothing about the candidate."""
    SKIPPED = "skipped"
    """The budget ended or the job was cancelled before it was built."""


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
class Failure:
    """Why something failed: a stable code, a message, the place, and the end of a log."""

    code: str
    message: str
    place: str | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Product:
    """Bytes that a candidate produced: ``tilelang_source``, ``cuda_source``, ``ir``, ``binary``, ``ascend_source``, ..."""

    name: str
    media_type: str
    data: bytes


@dataclass(frozen=True, slots=True)
class CandidateRecord:
    """One candidate and its outcome.

    ``id`` is a digest of variant, kind and schedule: the same candidate has the same id in every attempt and every job
    of the same kernel. Times are nanoseconds of one launch; ``forecast_ns`` is the simulator's, ``measured_ns`` the
    hardware's and None without a measurement.
    """

    id: str
    variant: int
    kind: CandidateKind
    outcome: Outcome
    schedule: Schedule | None = None
    certificate: Certificate | None = None
    status: str = ""
    """``proven_optimal`` or ``feasible`` for solver candidates."""
    structure: Mapping[str, str] = field(default_factory=dict)
    forecast_ns: float | None = None
    measured_ns: float | None = None
    measurement: Mapping[str, JsonValue] = field(default_factory=dict)
    """Spread, repeats, clocks, device and the protocol's id, as the measuring child reported them."""
    report: Mapping[str, JsonValue] = field(default_factory=dict)
    """What was read back from the binary: registers, spills, shared memory, launch, compiler messages."""
    not_honoured: tuple[str, ...] = ()
    failure: Failure | None = None
    products: tuple[Product, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)
    """Wall time by step."""

    @property
    def built(self) -> bool:
        """Whether there is a binary (or source, for targets without a compiler) that honours the plan."""
        return self.outcome in (Outcome.MEASURED, Outcome.COMPILED)


@dataclass(frozen=True, slots=True)
class VariantReport:
    """The outcome of one variant: its kernel's identity, or the reason why it was refused."""

    variant: int
    params: Mapping[str, JsonValue]
    kernel: str = ""
    ir_hash: str = ""
    failure: Failure | None = None


@dataclass(frozen=True, slots=True)
class RejectedStructure:
    """A structure that the solver proved impossible, with the conflicting families and their numbers."""

    variant: int
    structure: Mapping[str, str]
    conflicts: tuple[Conflict, ...]


@dataclass(frozen=True, slots=True)
class TuneResult:
    """The answer. ``best`` is the winner's id: the fastest measured, else the best forecast among the built.

    ``partial`` says that the job was stopped (cancel or budget) and the answer is the best known by then.
    """

    ending: Ending
    best: str | None
    candidates: tuple[CandidateRecord, ...]
    variants: tuple[VariantReport, ...]
    rejected: tuple[RejectedStructure, ...] = ()
    partial: bool = False
    stopped_by: str = ""
    note: str = ""
    """``measured``, or what is missing: ``compiled, not measured``, ``lowered, not compiled, not measured``, ..."""
    failure: Failure | None = None

    def candidate(self, candidate_id: str) -> CandidateRecord:
        """The candidate with this id; KeyError if there is none."""
        for candidate in self.candidates:
            if candidate.id == candidate_id:
                return candidate
        raise KeyError(candidate_id)
