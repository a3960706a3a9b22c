"""A measuring session on one device, from the parent's side: lease, child, every candidate, interleaved finalists, verdict.

A candidate that hangs or breaks its context loses only its own result: the child is killed, a fresh one must compute a
canary correctly, and the session continues. A device that fails the canary ends the session; candidates that were
not measured are not blamed.

Time is planned: candidates are measured in their order while there is time for the rounds as well, and while no
session that waits for the device would be late; the first few are measured in any case.
"""

import secrets
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from warpwright.lowering.measure.protocol import GPU_1, Protocol
from warpwright.lowering.measure.result import Measured, Rounds
from warpwright.lowering.measure.runner import MeasureJob
from warpwright.lowering.measure.statistics import Verdict, finalists, verdict, verdict_alone
from warpwright.lowering.measure.watched_device import named
from warpwright.lowering.outcome import StepOutcome
from warpwright.solver.domain import Outcome
from warpwright.tuning.children import ChildPool, Limits, Returned
from warpwright.tuning.measure.device_child import DeviceChild, RoundsBroken
from warpwright.tuning.measure.device_queue import DeviceQueue
from warpwright.tuning.measure.lease import DeviceBusy, DeviceLease, lease_name
from warpwright.tuning.measure.session_time import ESSENTIAL, SessionTime, essential_seconds

__all__ = ["MeasureReport", "measure_all"]

OnResult = Callable[[Measured], None]

Choice = tuple[Sequence[str], Collection[str]]
"""How a tie is decided: preferred candidates in order, and the baselines that the answer must not be slower than."""

Seats = tuple[Sequence[str], Sequence[Collection[str]]]
"""Who takes part in the rounds besides the fastest: candidates by name, and the fastest of each group."""

LIMITS = Limits(wall_seconds=60.0, cpu_seconds=600.0, memory_bytes=64 << 30, output_bytes=64 << 20)
"""Limits of one candidate: three checks, a warm-up and some dozens of runs take seconds for kernels of milliseconds."""

PREPARE_LIMITS = Limits(wall_seconds=120.0, memory_bytes=64 << 30)

LEAST_SECONDS = 3.0
"""A device that becomes free with less time left than this is of no use to the session."""

ROUND_TRIES = 3
"""Attempts at the rounds, each without the finalist that ended the previous ones."""


@dataclass(frozen=True, slots=True)
class MeasureReport:
    """The results of a session. ``winner`` is never a contended, implausible, wrong or unmeasured candidate; None if all are."""

    results: tuple[Measured, ...]
    rounds: Rounds | None = None
    screening: Rounds | None = None
    """Fewer rounds over all correct candidates, which chose the finalists; None if all could be finalists."""
    verdict: Verdict | None = None
    facts: dict[str, Any] | None = None
    partial: bool = False
    session: str = ""
    """What the session is called; later ones compare greater."""

    @property
    def winner(self) -> str | None:
        """The candidate to deliver."""
        return self.verdict.winner if self.verdict else None

    def result(self, candidate: str) -> Measured:
        """The result of a candidate; KeyError if it is not in the report."""
        for result in self.results:
            if result.candidate == candidate:
                return result
        raise KeyError(candidate)


def measure_all(
    jobs: Sequence[MeasureJob],
    device: dict[str, Any],
    *,
    protocol: Protocol = GPU_1,
    preference: Sequence[str] = (),
    always_final: Sequence[str] = (),
    groups: Sequence[Collection[str]] = (),
    baselines: Collection[str] = (),
    budget_seconds: float = 600.0,
    limits: Limits = LIMITS,
    lease_patience_seconds: float | None = None,
    cancel: threading.Event | None = None,
    on_result: OnResult | None = None,
    trace: str = "",
) -> MeasureReport:
    """Measures all jobs in order, then the finalists interleaved.

    Args:
        jobs: candidates, baselines and yardsticks, the most important first: ``ESSENTIAL`` are measured even if others wait.
        protocol: how times are measured.
        device: ``{"kind": "cuda", "index": 0}``, ``{"kind": "npu", ...}`` or ``{"kind": "simulated", ...}``.
        preference: who wins among those that tie, first named first; name all, and noise decides nothing.
        baselines: the compiler's own choices; who only ties with one of them does not win.
        always_final: candidates that take part in the rounds even when they are slow (baselines, yardsticks).
        groups: the fastest of each takes part in the rounds too, so that every group has a figure of the same rounds.
        budget_seconds: for everything, waiting for the device included; no candidate is begun that would leave no
            time for the rounds.
        limits: of one candidate's check and timing.
        lease_patience_seconds: how long to wait for another session on the device; None: as long as the budget allows.
        cancel: ends the session early; the report is then partial and valid.
        on_result: called with every result as soon as it exists.
        trace: of the request behind the session, for the log lines of its children.
    """
    deadline = time.monotonic() + budget_seconds
    cancel = cancel or threading.Event()
    tell = on_result or (lambda result: None)
    patience = max(0.0, budget_seconds - LEAST_SECONDS) if lease_patience_seconds is None else lease_patience_seconds
    with ChildPool(1, trace=trace) as pool:
        lease = DeviceLease(
            _name(pool, device, cancel),
            patience_seconds=patience,
            deadline=deadline,
            need_seconds=essential_seconds(protocol, len(jobs)),
            cancel=cancel,
        )
        try:
            with lease:
                child = DeviceChild(pool, device, protocol, limits, cancel)
                session = _Session(child, SessionTime(protocol, deadline), lease.queue)
                return session.run(jobs, (preference, baselines), (always_final, groups), tell)
        except DeviceBusy as error:
            results = tuple(Measured(job.candidate, protocol.name, _not_begun(error, cancel)) for job in jobs)
            for result in results:
                tell(result)
            return MeasureReport(results, partial=True)


def _name(pool: ChildPool, device: dict[str, Any], cancel: threading.Event) -> str:
    """The name of the lease: the device's own identity if known, because an index may mean another device in each process.

    The child loads its libraries at the same time, before anything has to wait for them.
    """
    reply = pool.run("measure.device", {"action": "identify", "device": device}, PREPARE_LIMITS, cancel=cancel)
    return lease_name(device, reply.value["identity"] if isinstance(reply, Returned) else "")


def _session_name() -> str:
    """By the time of day, so that of two sessions over one candidate the later one is known; unique all the same."""
    return f"{time.time_ns() // 1_000_000:013d}-{secrets.token_hex(4)}"


def _not_begun(error: DeviceBusy, cancel: threading.Event) -> StepOutcome:
    if cancel.is_set():
        return StepOutcome(Outcome.CANCELLED, "not measured: the session was stopped", ("stopped",))
    return StepOutcome(Outcome.CONTENDED, f"not measured: {error.message}", (error.code,))


@dataclass(slots=True)
class _Session:
    child: DeviceChild
    time: SessionTime
    queue: DeviceQueue
    hung: str = ""
    """The last candidate whose launch did not return."""

    def run(self, jobs: Sequence[MeasureJob], choice: Choice, seats: Seats, on_result: OnResult) -> MeasureReport:
        results: list[Measured] = []
        trouble = self.child.healthy(self.time.left())
        for place, job in enumerate(jobs):
            trouble = trouble or self.over(place, results)
            if trouble is not None:
                result = Measured(job.candidate, self.child.protocol.name, trouble)
            else:
                result = self.child.measure(job, self.time.for_candidate(len(results)))
                self.time.took(result.seconds)
                if "hang" in result.outcome.details:
                    self.hung = job.candidate
                if not self.child.usable_after(result.outcome):
                    trouble = self.after_fault()
            results.append(result)
            on_result(result)
        screening = self.screen(jobs, results)
        rounds, decision = self.final(jobs, results, choice, seats, screening)
        unmeasured = {Outcome.CANCELLED, Outcome.CONTENDED, Outcome.DEVICE_LOST, Outcome.INFRASTRUCTURE}
        partial = any(result.outcome.kind in unmeasured for result in results)
        return MeasureReport(tuple(results), rounds, screening, decision, self.child.facts, partial, _session_name())

    def over(self, place: int, results: Sequence[Measured]) -> StepOutcome | None:
        """Why the candidate at this place is not begun; None if it is."""
        if self.child.cancel.is_set():
            return StepOutcome(Outcome.CANCELLED, "not measured: the session was stopped", ("stopped",))
        medians = [result.summary.median_ns for result in results if result.summary is not None]
        if not self.time.allows(medians, self.time.deadline):
            cause = f", partly because a launch of {self.hung} did not return" if self.hung else ""
            details = ("hang", "budget") if self.hung else ("budget",)
            return StepOutcome(Outcome.CANCELLED, f"not measured: the session's time limit was reached{cause}", details)
        if place >= ESSENTIAL and not self.time.allows(medians, self.queue.room()):
            return StepOutcome(Outcome.CANCELLED, "not measured: other sessions wait for the device", ("device-busy",))
        return None

    def after_fault(self) -> StepOutcome | None:
        """Why nothing more can be measured after a fault; None if a fresh child is healthy."""
        trouble = self.child.healthy(self.time.left())
        if trouble is None or not self.hung or trouble.kind is Outcome.CANCELLED:
            return trouble
        message = f"not measured: the device was not healthy after {self.hung} hung: {trouble.message}"
        return StepOutcome(trouble.kind, message, ("hang", *trouble.details))

    def screen(self, jobs: Sequence[MeasureJob], results: list[Measured]) -> Rounds | None:
        """Interleaved rounds over all that were timed, if there are more than can be finalists."""
        timed = {result.candidate for result in results if result.summary is not None}
        if len(timed) <= self.child.protocol.finalists_maximum:
            return None
        found = self.rounds([job for job in jobs if job.candidate in timed], results, screening=True)
        return found if isinstance(found, Rounds) else None

    def final(
        self,
        jobs: Sequence[MeasureJob],
        results: list[Measured],
        choice: Choice,
        seats: Seats,
        screening: Rounds | None,
    ) -> tuple[Rounds | None, Verdict | None]:
        """Rounds of the finalists, and the verdict over those that may win: by the rounds, or by separate times."""
        found = self.final_rounds(jobs, results, seats, screening)
        eligible, tie_margin = _eligible(results, screening), self.child.protocol.tie_margin
        if found is not None and not found.contended:
            wrong = found.wrong or {}
            _take_back(results, wrong)
            figures = {n: t for n, t in found.figures_ns.items() if n in eligible and n not in wrong}
            return found, verdict(figures, tie_margin, *choice) if figures else None
        spreads = {result.candidate: result.summary.spread_ns for result in results if result.summary is not None}
        return found, verdict_alone(eligible, spreads, tie_margin, *choice) if eligible else None

    def final_rounds(
        self, jobs: Sequence[MeasureJob], results: list[Measured], seats: Seats, screening: Rounds | None
    ) -> Rounds | None:
        """The finalists' rounds, repeated without a finalist that ended them; None if they never ran to the end."""
        for _ in range(ROUND_TRIES):
            eligible = _eligible(results, screening)
            if not eligible:
                return None
            seated = self.seated(_medians(results, screening), eligible, seats)
            found = self.rounds([job for job in jobs if job.candidate in seated], results)
            if not (isinstance(found, RoundsBroken) and found.culprit):
                return found if isinstance(found, Rounds) else None
        return None

    def seated(self, medians: dict[str, float], eligible: dict[str, float], seats: Seats) -> set[str]:
        """Who takes part in the rounds: the fastest that may win, those that always do, and the fastest of each group."""
        protocol = self.child.protocol
        always_final, groups = seats
        chosen = set(finalists(eligible, protocol.finalist_margin, protocol.finalists_maximum))
        chosen |= {name for name in always_final if name in medians}
        for group in groups:
            chosen |= set(finalists({name: medians[name] for name in group if name in medians}, 0.0, 1))
        return chosen

    def rounds(
        self, jobs: Sequence[MeasureJob], results: list[Measured], *, screening: bool = False
    ) -> Rounds | RoundsBroken | None:
        """The interleaved rounds; a finalist that ended them loses its time, and a fresh child is healthy when this returns."""
        if self.child.cancel.is_set() or not jobs:
            return None
        seconds = self.time.for_rounds(len(jobs), self.child.limits.wall_seconds)
        found = self.child.rounds(jobs, seconds, screening=screening)
        if isinstance(found, Rounds):
            return found
        culprits = {job.candidate for job in jobs if found.culprit and named(job.kernel) == found.culprit}
        if not culprits or self.child.healthy(seconds) is not None:
            return None
        for place, result in enumerate(results):
            if result.candidate in culprits:
                results[place] = Measured(result.candidate, result.protocol, found.outcome, device=result.device)
        return found


def _take_back(results: list[Measured], wrong: Mapping[str, str]) -> None:
    """Finalists whose outputs were wrong after the rounds lose their time; ``wrong`` has the errors."""
    for place, result in enumerate(results):
        if result.candidate in wrong:
            outcome = StepOutcome(Outcome.WRONG_RESULT, wrong[result.candidate], ("after_rounds",))
            results[place] = Measured(result.candidate, result.protocol, outcome, device=result.device)


def _medians(results: Sequence[Measured], screening: Rounds | None) -> dict[str, float]:
    """Times of all that were timed: from the screening rounds if there were any, else the separate ones."""
    timed = {result.candidate: result.summary.median_ns for result in results if result.summary is not None}
    if screening is None or screening.contended:
        return timed
    return {name: median(times) for name, times in screening.figures_ns.items() if name in timed}


def _eligible(results: Sequence[Measured], screening: Rounds | None) -> dict[str, float]:
    """As :func:`_medians`, for those that may win."""
    medians = _medians(results, screening)
    return {r.candidate: medians[r.candidate] for r in results if r.eligible and r.candidate in medians}
