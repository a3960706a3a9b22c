"""Candidate: one schedule of one variant, from the moment it is chosen until it is measured, as one value everywhere.

The solver proposes it, every step returns a copy with more data, the database stores it, the API sends it and the client
reads it. What is not part of it (its number in a job, the job that it was reused from) belongs to the sender's envelope.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Literal

from warpwright.solver.domain.embedded import BESIDE, Embedded
from warpwright.solver.domain.outcome import Outcome
from warpwright.solver.domain.verdict import Certificate, Conflict, Schedule

__all__ = [
    "BASELINES",
    "BaselineKind",
    "Candidate",
    "CandidateKind",
    "Failure",
    "Proposals",
    "RejectedStructure",
    "UndecidedStructure",
    "media_type",
]


class CandidateKind(StrEnum):
    """Who chose the schedule: Warpwright's solver, or TileLang itself in one of its three ways (baselines). Stored by name."""

    SCHEDULED = "scheduled"
    DEFAULT = "default"
    ROLE_BASED = "role_based"
    UNSPECIALIZED = "unspecialized"


BaselineKind = Literal[CandidateKind.DEFAULT, CandidateKind.ROLE_BASED, CandidateKind.UNSPECIALIZED]
BASELINES: tuple[BaselineKind, ...] = (
    CandidateKind.DEFAULT,
    CandidateKind.ROLE_BASED,
    CandidateKind.UNSPECIALIZED,
)


@dataclass(frozen=True, slots=True)
class Failure:
    """Why something failed: a stable code, a message, the place, and the end of a log."""

    code: str
    message: str
    place: str | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A candidate in its current state.

    ``id`` is a digest of the variant's kernel, kind and schedule: the same candidate has the same id in every attempt and every
    job of the same kernel. Times are nanoseconds of one launch; ``forecast_ns`` is the simulator's, ``measured_ns`` the
    hardware's and None without a measurement. A forecast is never a measurement.
    """

    id: str
    variant: int
    """Place of its variant in the kernel family."""
    kind: CandidateKind
    outcome: Outcome = Outcome.PROPOSED
    params: Mapping[str, object] = field(default_factory=dict)
    """The variant's parameters."""
    schedule: Annotated[Schedule, Embedded()] | None = None
    """None for the compiler's own choices."""
    certificate: Annotated[Certificate, Embedded()] | None = None
    status: str = ""
    """``proven_optimal`` or ``feasible`` for the solver's candidates."""
    structure: Mapping[str, str] = field(default_factory=dict)
    """The choices that distinguish it, in words."""
    forecast_ns: float | None = None
    forecast_cycles: int | None = None
    """Cycles of the whole kernel, for devices whose cost model has no clock (Ascend); proven where the schedule has a
    certificate."""
    measured_ns: float | None = None
    measurement: Mapping[str, object] = field(default_factory=dict)
    """Spread, repeats, clocks, checks (``sizes``: at other sizes), device and protocol, as the session reported them."""
    report: Mapping[str, object] = field(default_factory=dict)
    """What was read back from the binary: registers, spills, shared memory, launch, compiler messages."""
    not_honoured: tuple[str, ...] = ()
    """Where the binary differs from the plan."""
    failure: Failure | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)
    """Wall time by step."""
    products: Annotated[Mapping[str, bytes], BESIDE] = field(default_factory=dict, repr=False)
    """Bytes that it produced, by name (``tilelang_source``, ``cuda_source``, ``ir``, ``binary``, ...), as far as they were read.
    They are not part of its JSON: stores and the API name them by digest."""

    @property
    def time_ns(self) -> float | None:
        """The measured time, or the forecast of a candidate that was not measured: the sort key of results."""
        return self.measured_ns if self.measured_ns is not None else self.forecast_ns

    @property
    def forecast(self) -> float | None:
        """What orders candidates that have no time: nanoseconds, or cycles where there is no clock. One unit in a job."""
        return self.forecast_ns if self.forecast_ns is not None else self.forecast_cycles

    @property
    def has_cost(self) -> bool:
        """Whether anything says how fast it is. Without a cost nothing is ranked."""
        return self.measured_ns is not None or self.forecast is not None

    @property
    def built(self) -> bool:
        """Whether there is a binary (or source, for targets without a compiler) that honours the plan."""
        return self.outcome.built

    @property
    def source(self) -> str:
        """The TileLang source to paste: with the schedule in it, or the unchanged kernel for the compiler's own choices.
        Empty if it could not be written.
        """
        return (self.products.get("tilelang_source") or self.products.get("plain_source", b"")).decode()


_MEDIA_TYPES = {
    "tilelang_source": "text/x-python",
    "plain_source": "text/x-python",
    "cuda_source": "text/x-cuda",
    "ascend_source": "text/x-c++",
    "ir": "application/json",
    "binary": "application/x-sharedlib",
}


def media_type(product: str) -> str:
    """The media type of a product by its name; bytes if the name is not known."""
    return _MEDIA_TYPES.get(product, "application/octet-stream")


@dataclass(frozen=True, slots=True)
class RejectedStructure:
    """A structure that was proven impossible, with the conflicting rule families and their numbers."""

    variant: int
    structure: Mapping[str, str]
    conflicts: tuple[Conflict, ...]


@dataclass(frozen=True, slots=True)
class UndecidedStructure:
    """A structure that the budget left undecided; ``reason`` says what ended the search."""

    variant: int
    structure: Mapping[str, str]
    reason: str


@dataclass(frozen=True, slots=True)
class Proposals:
    """The findings of a search. An empty list proves nothing by itself: a search without budget also finds nothing."""

    candidates: tuple[Candidate, ...] = ()
    """The solver's, best forecast first."""
    rejected: tuple[RejectedStructure, ...] = ()
    undecided: tuple[UndecidedStructure, ...] = ()
    ended: str = ""
    """What ended the search early; empty if nothing did."""
    infeasible: bool = False
    """Whether every structure of every variant was refuted, by proofs in ``rejected``."""

    @property
    def unknown(self) -> str:
        """Why the search was not exhaustive; empty if it was."""
        if self.ended or not self.undecided:
            return self.ended
        reasons = sorted({each.reason for each in self.undecided})
        return f"{len(self.undecided)} structures undecided: {'; '.join(reasons)[:300]}"
