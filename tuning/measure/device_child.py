"""The child that owns a device, from its parent's side: every question may end it, and the next question gets a fresh one.

Each question carries what was learnt about kernels: it determines how long a launch may take.
"""

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from warpwright.lowering.compile.result import CompiledKernel
from warpwright.lowering.compile.result import to_document as kernel_document
from warpwright.lowering.measure.protocol import Protocol
from warpwright.lowering.measure.result import Measured, Rounds, from_document
from warpwright.lowering.measure.runner import MeasureJob
from warpwright.lowering.measure.watched_device import named
from warpwright.lowering.outcome import StepOutcome
from warpwright.solver.domain import Outcome
from warpwright.tuning.children import ChildPool, Limits, Raised, Refused, Reply, Returned, TimedOut
from warpwright.tuning.children.step_outcome import of_reply

__all__ = ["DeviceChild", "RoundsBroken", "job_document"]

STICKY = frozenset({"kernel-faulted", "device-lost"})
"""Answers after which a child's device context can no longer be used."""

PROBE_LIMITS = Limits(wall_seconds=120.0, memory_bytes=64 << 30)

TRIES = 3
"""Attempts at a question whose child ended by a failure that the candidate did not cause."""

HEALTH_TRIES = 2
"""Attempts at the canary: a driver may need a moment to clean up after a killed kernel."""


@dataclass(frozen=True, slots=True)
class RoundsBroken:
    """Rounds that ended without figures. ``culprit`` is the kernel (``watched_device.named``) that caused it, empty
    if unknown.
    """

    outcome: StepOutcome
    culprit: str


@dataclass(slots=True)
class DeviceChild:
    """One device's child at a time. Not thread-safe."""

    pool: ChildPool
    device: dict[str, Any]
    protocol: Protocol
    limits: Limits
    cancel: threading.Event
    facts: dict[str, Any] | None = None
    _times: dict[str, float] = field(default_factory=dict)
    """Nanoseconds of a launch of each kernel that was timed."""
    _bad: dict[str, StepOutcome] = field(default_factory=dict)
    """Kernels that never returned or broke the context: a candidate with such a reference cannot be checked."""

    def healthy(self, seconds: float = PROBE_LIMITS.wall_seconds) -> StepOutcome | None:
        """None if a fresh or idle child computes the canary correctly within the time limit; otherwise the reason."""
        outcome: StepOutcome | None = None
        for left in reversed(range(HEALTH_TRIES)):
            outcome = self._canary(replace(PROBE_LIMITS, wall_seconds=min(seconds, PROBE_LIMITS.wall_seconds)))
            if outcome is None or outcome.kind is not Outcome.DEVICE_LOST or not left:
                break
            self.pool.retire()
            self.cancel.wait(1.0)
        return outcome

    def measure(self, job: MeasureJob, seconds: float) -> Measured:
        """One candidate within the time limit, whatever happens to the child."""
        reference = named(job.reference) if job.reference is not None else ""
        if reference in self._bad and reference != named(job.kernel):
            return Measured(job.candidate, self.protocol.name, self._bad[reference])
        begun = time.monotonic()
        limit = min(seconds, self.limits.wall_seconds)
        reply = self._ask("measure", [job], replace(self.limits, wall_seconds=limit))
        if isinstance(reply, Returned):
            found = from_document(reply.value["result"])
            assert isinstance(found, Measured)
            if found.summary is not None:
                self._times[named(job.kernel)] = found.summary.median_ns
            return found
        outcome = _blamed(reply, job, self._bad)
        if isinstance(reply, TimedOut) and reply.clock == "wall" and limit < self.limits.wall_seconds:
            outcome = StepOutcome(Outcome.CANCELLED, f"not measured: {limit:.0f} s were left for it", ("budget",))
        return Measured(job.candidate, self.protocol.name, outcome, seconds=time.monotonic() - begun)

    def usable_after(self, outcome: StepOutcome) -> bool:
        """Whether the child may be used again; if not, it is gone when this returns."""
        ended = {Outcome.TIMED_OUT, Outcome.CRASHED, Outcome.DEVICE_LOST, Outcome.INFRASTRUCTURE}
        if outcome.kind not in ended and not {"hang", *STICKY} & set(outcome.details):
            return True
        self.pool.retire()
        return False

    def rounds(self, jobs: Sequence[MeasureJob], seconds: float, *, screening: bool = False) -> Rounds | RoundsBroken:
        """Interleaved rounds within the time limit."""
        action = "screening" if screening else "rounds"
        reply = self._ask(action, jobs, replace(self.limits, wall_seconds=seconds))
        if isinstance(reply, Returned):
            found = from_document(reply.value["result"])
            assert isinstance(found, Rounds)
            return found
        self.pool.retire()
        outcome = of_reply(reply, "measure")
        assert outcome is not None
        return RoundsBroken(outcome, _culprit(reply))

    def _canary(self, limits: Limits) -> StepOutcome | None:
        reply = self._ask("probe", (), limits)
        if isinstance(reply, Returned):
            self.facts = {**reply.value["facts"], "conditions": reply.value["conditions"]}
            if reply.value["canary"]:
                return None
            return StepOutcome(
                Outcome.DEVICE_LOST, "the device computes a known sum incorrectly", ("device-lost", "canary")
            )
        outcome = of_reply(reply, "measure")
        assert outcome is not None
        if outcome.kind in (Outcome.NOT_APPLICABLE, Outcome.CANCELLED, Outcome.INFRASTRUCTURE):
            return outcome
        details = ("device-lost", "canary", *outcome.details)
        return StepOutcome(Outcome.DEVICE_LOST, f"the canary failed: {outcome.message}", details)

    def _ask(self, action: str, jobs: Sequence[MeasureJob], limits: Limits) -> Reply:
        """The child's answer; asked again, with a limit, if the child ended by an infrastructure failure (it was killed)."""
        payload = {
            "device": self.device,
            "action": action,
            "protocol": self.protocol.name,
            "jobs": [job_document(job) for job in jobs],
            "expected_ns": self._expected(jobs),
        }
        for left in reversed(range(TRIES)):
            reply = self.pool.run("measure.device", payload, limits, cancel=self.cancel)
            outcome = of_reply(reply, "measure")
            # What the child itself answered would not change.
            if isinstance(reply, Returned | Refused | Raised) or outcome is None or not left:
                break
            if outcome.kind is not Outcome.INFRASTRUCTURE:
                break
            self.pool.retire()
        return reply

    def _expected(self, jobs: Sequence[MeasureJob]) -> dict[str, float]:
        """Expected time of a launch of each kernel: its measured time, else the largest known estimate."""
        fastest = min(self._times.values(), default=0.0)
        expected: dict[str, float] = {}
        for job in jobs:
            for kernel in (job.kernel, job.reference):
                if kernel is not None:
                    guess = max(job.floor_ns, job.expected_ns, fastest)
                    expected[named(kernel)] = max(
                        expected.get(named(kernel), 0.0), self._times.get(named(kernel), guess)
                    )
        return expected


def job_document(job: MeasureJob) -> dict[str, Any]:
    """A job as the task expects it."""

    def plain(kernel: CompiledKernel | None) -> dict[str, Any] | None:
        return None if kernel is None else {**kernel_document(kernel), "source": ""}

    return {
        "candidate": job.candidate,
        "kernel": plain(job.kernel),
        "reference": plain(job.reference),
        "floor_ns": job.floor_ns,
        **({"expected_ns": job.expected_ns} if job.expected_ns else {}),
        "also": [
            {"name": other.name, "kernel": plain(other.kernel), "reference": plain(other.reference)}
            for other in job.also
        ],
    }


def _culprit(reply: Reply) -> str:
    """The kernel that was running when a child ended, if the child had named it."""
    if isinstance(reply, TimedOut):
        return reply.what
    return (reply.place or "") if isinstance(reply, Refused) and reply.code in STICKY else ""


def _blamed(reply: Reply, job: MeasureJob, bad: dict[str, StepOutcome]) -> StepOutcome:
    """A candidate's outcome; a failure of its reference is not its fault, nor that of others with the same reference."""
    culprit = _culprit(reply)
    outcome = of_reply(replace(reply, place=None) if isinstance(reply, Refused) and culprit else reply, "measure")
    assert outcome is not None
    if not culprit:
        return outcome
    failed = StepOutcome(Outcome.REFERENCE_FAILED, f"the reference: {outcome.message}", outcome.details)
    bad[culprit] = failed
    own = {named(job.kernel), *(named(other.kernel) for other in job.also)}
    return outcome if culprit in own else failed
