"""The port behind which everything slow, native or dangerous happens: reading IR, solving, lowering, compiling, timing.

Every method blocks and may be called from any thread. Each takes a :class:`Patience`: the seconds it may last and the
stop flag that ends it early; an adapter must return within about a second after the flag is set, leaving no child
behind. Failures are a :class:`StepFailed` that says who caused them, never a bare exception of some library.
"""

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol

from warpwright.lowering.compile.options import BuildOption
from warpwright.solver.domain import (
    Candidate,
    CandidateKind,
    Failure,
    HardwareProfile,
    KernelGraph,
    Outcome,
    Pins,
    Proposals,
    Schedule,
    Verdict,
    Violation,
)
from warpwright.tuning.request import TuneRequest

__all__ = [
    "Built",
    "BuiltSize",
    "Contestant",
    "Identity",
    "KernelRead",
    "Materialized",
    "Measurement",
    "Patience",
    "Solving",
    "StepFailed",
    "Stop",
    "Toolchain",
]


class Stop:
    """A flag that ends a tuning early, set once by a cancellation, a deadline, a lost lease or a shutdown."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._reason = ""

    @property
    def reason(self) -> str:
        """Why the flag was set; empty while it is not."""
        return self._reason

    @property
    def event(self) -> threading.Event:
        """The underlying event, for those who wait on it."""
        return self._event

    def raise_flag(self, reason: str) -> None:
        """Set the flag; the first reason stays."""
        if not self._event.is_set():
            self._reason = reason
            self._event.set()

    def is_raised(self) -> bool:
        """Whether the tuning should end now."""
        return self._event.is_set()


@dataclass(frozen=True, slots=True)
class Patience:
    """How long one step may last: its own limit, the job's deadline (``time.monotonic``), and the stop flag."""

    seconds: float
    deadline: float
    stop: Stop

    @classmethod
    def alone(cls, seconds: float) -> "Patience":
        """For a step that belongs to no job: nothing but its own limit ends it."""
        return cls(seconds, time.monotonic() + seconds, Stop())

    @property
    def left(self) -> float:
        """Seconds that remain for the step, never negative."""
        return max(0.0, min(self.seconds, self.deadline - time.monotonic()))

    @property
    def is_over(self) -> bool:
        """Whether the job's own time has ended."""
        return time.monotonic() >= self.deadline


class StepFailed(Exception):
    """A step ended without its product. ``outcome`` says who caused it, ``failure`` why."""

    def __init__(self, outcome: Outcome, failure: Failure, *, report: Mapping[str, object] | None = None) -> None:
        super().__init__(f"{outcome}: {failure.message}")
        self.outcome = outcome
        self.failure = failure
        self.report: Mapping[str, object] = report or {}


@dataclass(frozen=True, slots=True)
class Identity:
    """The toolchain's part of a result's fingerprint, as separate columns (``warpwright.solver.domain.Fingerprint``)."""

    toolchain: str
    constraint_set: str
    protocol: str
    verification: str


@dataclass(frozen=True, slots=True)
class KernelRead:
    """A variant as the frontend read it."""

    graph: KernelGraph
    ir_hash: str


@dataclass(frozen=True, slots=True)
class Solving:
    """How one solve is done: engine, seed, and its deterministic work limit."""

    engine: str = "cpsat"
    seed: int = 0
    work_limit: int = 20_000


@dataclass(frozen=True, slots=True)
class Materialized:
    """IR with a schedule in it, and source to paste."""

    ir: str
    products: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Built:
    """A compiled candidate: what was read back, and where the binary differs from the plan."""

    report: Mapping[str, object]
    not_honoured: tuple[str, ...]
    products: Mapping[str, bytes]
    """Bytes by name, as ``Candidate.products``."""
    binary: bool = True
    """False if source is the last product, because no compiler for the target is available."""


@dataclass(frozen=True, slots=True)
class BuiltSize:
    """A candidate and its reference, built for another size of the kernel."""

    name: str
    candidate: Built
    reference: Built


@dataclass(frozen=True, slots=True)
class Contestant:
    """A built candidate on its way into a measuring session, with what the session has to know beside it."""

    candidate: Candidate
    floor_ns: float = 0.0
    """No launch can be faster (roofline of the profile); 0 if it is not known."""
    sizes: tuple[BuiltSize, ...] = ()
    """Other sizes at which it is checked before it is timed."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """Time of one launch, and everything else that the protocol recorded."""

    nanoseconds: float
    record: Mapping[str, object]


class Toolchain(Protocol):
    """All steps between IR and a time. See the module's docstring for what all methods share."""

    def identity(self, profile: HardwareProfile) -> Identity:
        """Names and versions of what would build and measure for this device."""
        ...

    def read(self, ir: str, profile: HardwareProfile, patience: Patience) -> KernelRead:
        """Read IR into a kernel graph.

        Raises:
            warpwright.solver.domain.WarpwrightError: the IR is refused (bad document, foreign code, not applicable).
            StepFailed: the reader itself failed.
        """
        ...

    def propose(self, kernels: Mapping[int, KernelRead], request: TuneRequest, patience: Patience) -> Proposals:
        """Structurally different schedules for the readable variants, keyed by variant number."""
        ...

    def solve(
        self, kernel: KernelRead, profile: HardwareProfile, pins: Pins, solving: Solving, patience: Patience
    ) -> Verdict:
        """One kernel's verdict: the best schedule with its certificate, infeasible with its reasons, or unknown."""
        ...

    def explain(
        self, kernel: KernelRead, profile: HardwareProfile, pins: Pins, why: str, patience: Patience
    ) -> Mapping[str, object]:
        """Why a choice such as ``pipelines.ab.depth=4`` is possible, costly or impossible: families and numbers.

        Raises:
            WarpwrightError: ``why`` names nothing in this kernel.
        """
        ...

    def forecast(self, kernel: KernelRead, kind: CandidateKind, profile: HardwareProfile) -> float | None:
        """Forecast in nanoseconds of a baseline; None if there is no forecast."""
        ...

    def verify(self, kernel: KernelRead, profile: HardwareProfile, schedule: Schedule) -> tuple[Violation, ...]:
        """Broken rules of a schedule, by the independent verifier; empty means legal."""
        ...

    def materialize(self, ir: str, schedule: Schedule, profile: HardwareProfile, patience: Patience) -> Materialized:
        """Write a schedule into the IR."""
        ...

    def plain_source(
        self, ir: str, kind: CandidateKind, profile: HardwareProfile, patience: Patience, *, fenced: bool = False
    ) -> str:
        """The kernel as TileLang source, for one of the compiler's own choices; empty where it cannot be written."""
        ...

    def compile(
        self,
        ir: str,
        kind: CandidateKind,
        schedule: Schedule | None,
        profile: HardwareProfile,
        patience: Patience,
        build_options: Sequence[BuildOption] = (),
    ) -> Built:
        """Build a kernel; baselines come with plain IR and without a schedule."""
        ...

    def announced(self, profile: HardwareProfile, deadline: float) -> AbstractContextManager[Callable[[], float]]:
        """While it is entered, others know that this job wants a device of the profile and must end by ``deadline``.

        What it gives says when measuring has to begin so that this job and those behind it end in time; both are on the
        monotonic clock. Infinity where nobody else can want the device, or nobody knows.
        """
        ...

    def measures(self, profile: HardwareProfile) -> bool:
        """Whether a device of this profile can be measured now."""
        ...

    def measure(
        self, candidates: Sequence[Contestant], irs: Sequence[str], profile: HardwareProfile, patience: Patience
    ) -> Iterator[tuple[str, Measurement | StepFailed]]:
        """Check and time built candidates, near-winners interleaved; results by candidate id as they come.

        ``irs`` holds the variants' plain IR: the reference is the same IR compiled without any specialisation.
        """
        ...

    def available(self) -> bool:
        """Whether steps could be run now; False while the task runner cannot send them out."""
        ...

    def missing(self, capabilities: Sequence[str]) -> tuple[str, ...]:
        """Those of the capabilities for which no live worker is known; empty while nobody can know."""
        ...

    def close(self) -> None:
        """End all children; no method is called afterwards."""
        ...
