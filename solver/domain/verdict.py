"""Verdict and certificate: an engine's answer to a problem, and the data that lets anyone check it again.

Unknown is never infeasible: only :class:`Infeasible` says that no schedule exists, and it names the conflicting families.
"""

from dataclasses import dataclass, field
from typing import Annotated, Literal

from warpwright.solver.domain.bound import Bound
from warpwright.solver.domain.embedded import Embedded
from warpwright.solver.domain.pins import Pins
from warpwright.solver.domain.proof_scope import ProofScope
from warpwright.solver.domain.schedule import BufferSchedule, WarpSchedule

__all__ = [
    "Bound",
    "Certificate",
    "Conflict",
    "Feasible",
    "Infeasible",
    "ProvenOptimal",
    "Schedule",
    "Unknown",
    "Verdict",
    "Violation",
]

Schedule = WarpSchedule | BufferSchedule


@dataclass(frozen=True, slots=True)
class Violation:
    """One broken rule of a schedule: the family, the place and the numbers, for a person."""

    family: str
    rule: str
    message: str
    place: str = ""

    @property
    def words(self) -> str:
        """The rule's code, and what it says of this schedule."""
        return f"{self.family}/{self.rule}: {self.message}"


@dataclass(frozen=True, slots=True)
class Certificate:
    """Evidence stored beside a schedule. Times are in cycles of the profile's clock, work in the engine's own units.

    ``verified`` is the verdict of :mod:`warpwright.solver.warp.verify` on exactly this schedule; ``digest`` fields identify
    what was solved. Which fields follow from schedule, kernel and profile, and which only say what a search did, is judged by
    the check of each kind (:mod:`warpwright.solver.domain.certificate_check`).
    """

    initiation_interval_cycles: int | None
    lower_bound: Bound
    gap_cycles: int
    schedule_length_cycles: int
    on_chip_bytes: int
    synchronisations: int
    engine: str
    engine_version: str
    seed: int
    work: int
    work_limit: int
    constraint_set: str
    problem_digest: str
    profile_digest: str
    verified: bool
    binding: tuple[str, ...] = ()
    bounds: tuple[Bound, ...] = ()
    oracle: str = ""
    """A vendor tool's opinion of this plan; empty if none was asked."""
    scope: ProofScope | None = None
    """What ``lower_bound`` holds for; None in certificates that were made before it was recorded."""
    sentence: str = ""
    """What is proven, in the words of :func:`warpwright.solver.domain.proof_sentence.proof_sentence`."""
    pins: Annotated[Pins, Embedded()] = field(default_factory=Pins)
    """What was fixed before the search, the kernel's own pins included: with kernel and profile it gives the problem again."""
    total_cycles: int | None = None
    """Ascend: cycles of the whole kernel under this schedule, prologues and waves included; None where trips are not known."""
    total_bound_cycles: int | None = None
    """Ascend: cycles below which no schedule of the whole kernel goes."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """One member of an infeasibility core: a family with the numbers, and the smallest change that helps."""

    family: str
    message: str
    relaxation: str = ""
    place: str = ""


@dataclass(frozen=True, slots=True)
class ProvenOptimal:
    """The schedule's objective equals a proven lower bound."""

    schedule: Schedule
    certificate: Certificate
    status: Literal["proven_optimal"] = "proven_optimal"


@dataclass(frozen=True, slots=True)
class Feasible:
    """A verified schedule without a proof that it is the best."""

    schedule: Schedule
    certificate: Certificate
    status: Literal["feasible"] = "feasible"


@dataclass(frozen=True, slots=True)
class Infeasible:
    """Proven: no schedule satisfies these families together (a minimised core if the engine gives one)."""

    conflicts: tuple[Conflict, ...]
    engine: str
    status: Literal["infeasible"] = "infeasible"


@dataclass(frozen=True, slots=True)
class Unknown:
    """The budget ended first. Says nothing about feasibility."""

    reason: str
    engine: str
    work: int
    status: Literal["unknown"] = "unknown"


Verdict = ProvenOptimal | Feasible | Infeasible | Unknown
