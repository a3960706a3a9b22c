"""What a search for candidates returns."""

from dataclasses import dataclass, field

from warpwright.solver.domain import Certificate, Infeasible, Unknown, WarpSchedule
from warpwright.solver.forecast import Simulation

__all__ = ["Baseline", "Candidate", "Proposals", "Rejected"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A verified schedule with its forecast. ``id`` is a digest of variant and schedule: equal schedules have equal ids."""

    id: str
    schedule: WarpSchedule
    certificate: Certificate
    status: str
    forecast_ns: float
    structure: dict[str, str]
    params: dict[str, object] = field(default_factory=dict)
    variant: int = 0
    """Index of the kernel variant in the family."""
    simulation: Simulation | None = None


@dataclass(frozen=True, slots=True)
class Rejected:
    """A structure for which no schedule exists, or none was found within the budget."""

    structure: dict[str, str]
    verdict: Infeasible | Unknown
    params: dict[str, object] = field(default_factory=dict)
    variant: int = 0


@dataclass(frozen=True, slots=True)
class Baseline:
    """One of TileLang's own choices; always measured, never in competition for a place among the candidates."""

    kind: str
    forecast_ns: float
    params: dict[str, object] = field(default_factory=dict)
    variant: int = 0
    simulation: Simulation | None = None


@dataclass(frozen=True, slots=True)
class Proposals:
    """Candidates ranked best forecast first, what could not be, and TileLang's own choices of every variant."""

    candidates: tuple[Candidate, ...]
    rejected: tuple[Rejected, ...]
    baselines: tuple[Baseline, ...]
