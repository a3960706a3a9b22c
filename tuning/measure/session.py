"""A measuring session on one device, from the parent's side: lease, child, every candidate, interleaved finalists, verdict.

A candidate that hangs or breaks its context costs only its own result: the child is killed, a fresh one must compute a
canary right, and the session goes on. A device that fails the canary ends the session; what was not measured is not blamed.
"""

import threading
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from warpwright.lowering.compile.result import CompiledKernel
from warpwright.lowering.compile.result import to_document as kernel_document
from warpwright.lowering.measure.lease import DeviceBusy, DeviceLease
from warpwright.lowering.measure.protocol import GPU_1, Protocol
from warpwright.lowering.measure.result import Measured, Rounds, from_document
from warpwright.lowering.measure.runner import Job
from warpwright.lowering.measure.statistics import Verdict, finalists, verdict
from warpwright.lowering.outcome import Outcome, OutcomeKind, of_reply
from warpwright.tuning.children import ChildPool, Limits, Raised, Refused, Reply, Returned

__all__ = ["MeasureReport", "job_document", "measure_all"]

OnResult = Callable[[Measured], None]

Choice = tuple[Sequence[str], Collection[str]]
"""How a tie is decided: preferred candidates in order, and the baselines that the answer must not be slower than."""

Seats = tuple[Sequence[str], Sequence[Collection[str]]]
"""Who takes part in the rounds beside the fastest: candidates by name, and the fastest of each group."""

STICKY = frozenset({"kernel-faulted", "device-lost"})

LIMITS = Limits(wall_seconds=60.0, cpu_seconds=600.0, memory_bytes=64 << 30, output_bytes=64 << 20)
"""Of one candidate: three checks, a warm-up and some dozens of runs take seconds for kernels of milliseconds."""

PROBE_LIMITS = Limits(wall_seconds=120.0, memory_bytes=64 << 30)

TRIES = 3
"""Of a question whose child ended by a fault that is none of the candidate's."""


@dataclass(frozen=True, slots=True)
class MeasureReport:
    """What a session found. ``winner`` is never a contended, implausible, wrong or unmeasured candidate; None if all are."""

    results: tuple[Measured, ...]
    rounds: Rounds | None = None
    screening: Rounds | None = None
    """Fewer rounds over all correct candidates, which chose the finalists; None when all could be finalists."""
    verdict: Verdict | None = None
    facts: dict[str, Any] | None = None
    partial: bool = False

    @property
    def winner(self) -> str | None:
        """The candidate to deliver."""
        return self.verdict.winner if self.verdict else None

    def result(self, candidate: str) -> Measured:
        """The result of a candidate; KeyError when it is not in the report."""
        for result in self.results:
            if result.candidate == candidate:
                return result
        raise KeyError(candidate)


def measure_all(
    jobs: Sequence[Job],
    device: dict[str, Any],
    *,
    protocol: Protocol = GPU_1,
    preference: Sequence[str] = (),
    always_final: Sequence[str] = (),
    groups: Sequence[Collection[str]] = (),
    baselines: Collection[str] = (),
    budget_seconds: float = 600.0,
    limits: Limits = LIMITS,
    lease_patience_seconds: float = 60.0,
    cancel: threading.Event | None = None,
    on_result: OnResult | None = None,
    trace: str = "",
) -> MeasureReport:
    """Measures all jobs in order, then the finalists interleaved.

    Args:
        jobs: candidates, baselines and yardsticks.
        protocol: how times are taken.
        device: ``{"kind": "cuda", "index": 0}``, ``{"kind": "npu", ...}`` or ``{"kind": "simulated", ...}``.
        preference: who wins among those that tie, first named first; the fastest when none is named.
        baselines: the compiler's own choices; the answer is never one that is slower than the fastest of them.
        always_final: candidates that take part in the rounds even when they are slow (baselines, yardsticks).
        groups: the fastest of each takes part in the rounds too, so that every group has a figure of the same rounds.
        budget_seconds: no new candidate is started after this; a quarter of it is kept for the rounds.
        limits: of one candidate's check and timing.
        lease_patience_seconds: how long to wait for another session on the device.
        cancel: ends the session early; the report is then partial and valid.
        on_result: called with every result as it is there.
        trace: of the request behind the session, for the log lines of its children.
    """
    session = _Session(device, protocol, limits, cancel or threading.Event(), time.monotonic() + budget_seconds)
    try:
        with (
            ChildPool(1, trace=trace) as pool,
            DeviceLease(_name(pool, device), patience_seconds=lease_patience_seconds),
        ):
            session.pool = pool
            return session.run(
                jobs,
                (preference, baselines),
                (always_final, groups),
                budget_seconds,
                on_result or (lambda result: None),
            )
    except DeviceBusy as error:
        busy = Outcome(OutcomeKind.CONTENDED, error.message, (error.code,))
        return MeasureReport(tuple(Measured(job.candidate, protocol.name, busy) for job in jobs), partial=True)


def job_document(job: Job) -> dict[str, Any]:
    """A job as the task takes it."""

    def plain(kernel: CompiledKernel | None) -> dict[str, Any] | None:
        return None if kernel is None else {**kernel_document(kernel), "source": ""}

    return {
        "candidate": job.candidate,
        "kernel": plain(job.kernel),
        "reference": plain(job.reference),
        "floor_ns": job.floor_ns,
        "also": [
            {"name": other.name, "kernel": plain(other.kernel), "reference": plain(other.reference)}
            for other in job.also
        ],
    }


def _name(pool: ChildPool, device: dict[str, Any]) -> str:
    """What the lease is named by: the device itself where it can be told, since an index means another one in each process."""
    reply = pool.run("measure.device", {"action": "identify", "device": device}, PROBE_LIMITS)
    identity = reply.value["identity"] if isinstance(reply, Returned) else ""
    return identity or f"{device.get('kind')}-{device.get('index', 0)}-{device.get('name', '')}"


@dataclass(slots=True)
class _Session:
    device: dict[str, Any]
    protocol: Protocol
    limits: Limits
    cancel: threading.Event
    deadline: float
    pool: ChildPool | None = None
    facts: dict[str, Any] | None = None

    def run(
        self,
        jobs: Sequence[Job],
        choice: Choice,
        seats: Seats,
        budget_seconds: float,
        on_result: OnResult,
    ) -> MeasureReport:
        results: list[Measured] = []
        trouble = self.healthy()
        for job in jobs:
            if trouble is None and (self.cancel.is_set() or time.monotonic() > self.deadline - budget_seconds / 4):
                trouble = Outcome(OutcomeKind.CANCELLED, "the session's time was up", ("not_started",))
            if trouble is not None:
                result = Measured(job.candidate, self.protocol.name, trouble)
            else:
                result = self.candidate(job)
                if result.outcome.kind not in (OutcomeKind.CANCELLED,) and self.broken(result):
                    trouble = self.healthy()
            results.append(result)
            on_result(result)
        screening = self.screen(jobs, results)
        rounds, decision = self.final(jobs, results, choice, seats, screening)
        partial = any(result.outcome.kind is OutcomeKind.CANCELLED for result in results)
        return MeasureReport(tuple(results), rounds, screening, decision, self.facts, partial)

    def healthy(self) -> Outcome | None:
        """None when a fresh or idle child computes the canary right; why not otherwise."""
        reply = self.ask("probe", (), PROBE_LIMITS)
        if isinstance(reply, Returned):
            self.facts = {**reply.value["facts"], "conditions": reply.value["conditions"]}
            if reply.value["canary"]:
                return None
            return Outcome(OutcomeKind.DEVICE_LOST, "the device computes a known sum wrong", ("canary",))
        outcome = of_reply(reply, "measure")
        assert outcome is not None
        if outcome.kind in (OutcomeKind.NOT_APPLICABLE, OutcomeKind.CANCELLED, OutcomeKind.INFRASTRUCTURE):
            return outcome
        return Outcome(OutcomeKind.DEVICE_LOST, f"the canary failed: {outcome.message}", ("canary", *outcome.details))

    def candidate(self, job: Job) -> Measured:
        """One candidate in the child, whatever becomes of the child."""
        begun = time.monotonic()
        reply = self.ask("measure", [job], self.limits)
        if isinstance(reply, Returned):
            found = from_document(reply.value["result"])
            assert isinstance(found, Measured)
            return found
        outcome = of_reply(reply, "measure")
        assert outcome is not None
        return Measured(job.candidate, self.protocol.name, outcome, seconds=time.monotonic() - begun)

    def broken(self, result: Measured) -> bool:
        """Whether the child must not be used again; if so it is gone when this returns."""
        assert self.pool is not None
        ended = {OutcomeKind.TIMED_OUT, OutcomeKind.CRASHED, OutcomeKind.DEVICE_LOST, OutcomeKind.INFRASTRUCTURE}
        if result.outcome.kind not in ended and not STICKY & set(result.outcome.details):
            return False
        self.pool.retire()
        return True

    def screen(self, jobs: Sequence[Job], results: Sequence[Measured]) -> Rounds | None:
        """Interleaved rounds over all that were timed, when there are more than can be finalists."""
        timed = {result.candidate for result in results if result.summary is not None}
        if len(timed) <= self.protocol.finalists_maximum:
            return None
        return self.rounds([job for job in jobs if job.candidate in timed], "screening")

    def final(
        self,
        jobs: Sequence[Job],
        results: list[Measured],
        choice: Choice,
        seats: Seats,
        screening: Rounds | None,
    ) -> tuple[Rounds | None, Verdict | None]:
        """Rounds of the finalists, and the verdict over those that may win."""
        timed = {r.candidate: r.summary.median_ns for r in results if r.summary is not None}
        if screening is not None and not screening.contended:
            timed = {name: median(times) for name, times in screening.figures_ns.items()}
        medians = {r.candidate: timed[r.candidate] for r in results if r.eligible and r.candidate in timed}
        if not medians:
            return None, None
        chosen = dict.fromkeys(finalists(medians, self.protocol.finalist_margin, self.protocol.finalists_maximum))
        always_final, groups = seats
        chosen |= dict.fromkeys(name for name in always_final if name in timed)
        for group in groups:
            chosen |= dict.fromkeys(finalists({name: timed[name] for name in group if name in timed}, 0.0, 1))
        rounds = self.rounds([job for job in jobs if job.candidate in chosen])
        if rounds is None or rounds.contended:
            alone = {name: (time_ns,) for name, time_ns in medians.items()}
            return rounds, verdict(alone, self.protocol.tie_margin, *choice)
        wrong = rounds.wrong or {}
        for place, result in enumerate(results):
            if result.candidate in wrong:
                outcome = Outcome(OutcomeKind.WRONG_RESULT, wrong[result.candidate], ("after_rounds",))
                results[place] = Measured(result.candidate, result.protocol, outcome, device=result.device)
        figures = {n: t for n, t in rounds.figures_ns.items() if n in medians and n not in wrong}
        return rounds, verdict(figures, self.protocol.tie_margin, *choice) if figures else None

    def rounds(self, jobs: Sequence[Job], action: str = "rounds") -> Rounds | None:
        """The interleaved rounds; None when the child did not survive them."""
        assert self.pool is not None
        if self.cancel.is_set():
            return None
        limits = Limits(
            wall_seconds=max(30.0, self.limits.wall_seconds * len(jobs) / 2),
            cpu_seconds=self.limits.cpu_seconds,
            memory_bytes=self.limits.memory_bytes,
            output_bytes=self.limits.output_bytes,
        )
        reply = self.ask(action, jobs, limits)
        if not isinstance(reply, Returned):
            self.pool.retire()
            return None
        found = from_document(reply.value["result"])
        assert isinstance(found, Rounds)
        return found

    def ask(self, action: str, jobs: Sequence[Job], limits: Limits) -> Reply:
        """What the child says; asked again, with a limit, where the child ended by a fault of ours: somebody killed it."""
        assert self.pool is not None
        payload = {
            "device": self.device,
            "action": action,
            "protocol": self.protocol.name,
            "jobs": [job_document(job) for job in jobs],
        }
        for left in reversed(range(TRIES)):
            reply = self.pool.run("measure.device", payload, limits, cancel=self.cancel)
            outcome = of_reply(reply, "measure")
            # What the child itself answered it would answer again.
            if isinstance(reply, Returned | Refused | Raised) or outcome is None or not left:
                break
            if outcome.kind is not OutcomeKind.INFRASTRUCTURE:
                break
            self.pool.retire()
        return reply
