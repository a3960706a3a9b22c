"""Outcome: how one candidate ended, as a closed union with a fault, so that only a candidate's own fault is remembered.

::

    compiled  measured                                       no fault
    not_applicable  reference_failed  contended  cancelled   no fault: nothing was learnt about the candidate
    wrong_result  not_honoured  compile_failed               the candidate's fault: remembered as a negative result
    over_resource  launch_failed  timed_out  crashed
    device_lost  infrastructure                              ours: retried, with a limit

Kinds are append-only and stored by name. ``details`` are finer stable words (``register_request_ignored``, ``spills``, ...).
"""

import signal
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from warpwright.tuning.children.reply import (
    Cancelled,
    Crashed,
    OutOfMemory,
    OutputExceeded,
    ProtocolBroken,
    Raised,
    Refused,
    Reply,
    Returned,
    TimedOut,
)

__all__ = ["Fault", "Outcome", "OutcomeKind", "Step", "of_reply"]

Step = Literal["frontend", "materialize", "compile", "measure"]


class OutcomeKind(StrEnum):
    """How it ended."""

    COMPILED = "compiled"
    MEASURED = "measured"
    WRONG_RESULT = "wrong_result"
    NOT_HONOURED = "not_honoured"
    COMPILE_FAILED = "compile_failed"
    OVER_RESOURCE = "over_resource"
    LAUNCH_FAILED = "launch_failed"
    TIMED_OUT = "timed_out"
    CRASHED = "crashed"
    DEVICE_LOST = "device_lost"
    NOT_APPLICABLE = "not_applicable"
    REFERENCE_FAILED = "reference_failed"
    CONTENDED = "contended"
    CANCELLED = "cancelled"
    INFRASTRUCTURE = "infrastructure"


class Fault(StrEnum):
    """Whose fault an outcome is."""

    NONE = "none"
    CANDIDATE = "candidate"
    INFRASTRUCTURE = "infrastructure"


FAULTS: dict[OutcomeKind, Fault] = {
    OutcomeKind.COMPILED: Fault.NONE,
    OutcomeKind.MEASURED: Fault.NONE,
    OutcomeKind.WRONG_RESULT: Fault.CANDIDATE,
    OutcomeKind.NOT_HONOURED: Fault.CANDIDATE,
    OutcomeKind.COMPILE_FAILED: Fault.CANDIDATE,
    OutcomeKind.OVER_RESOURCE: Fault.CANDIDATE,
    OutcomeKind.LAUNCH_FAILED: Fault.CANDIDATE,
    OutcomeKind.TIMED_OUT: Fault.CANDIDATE,
    OutcomeKind.CRASHED: Fault.CANDIDATE,
    OutcomeKind.DEVICE_LOST: Fault.INFRASTRUCTURE,
    OutcomeKind.NOT_APPLICABLE: Fault.NONE,
    OutcomeKind.REFERENCE_FAILED: Fault.NONE,
    OutcomeKind.CONTENDED: Fault.NONE,
    OutcomeKind.CANCELLED: Fault.NONE,
    OutcomeKind.INFRASTRUCTURE: Fault.INFRASTRUCTURE,
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """One ending. ``resource``, ``needed`` and ``limit`` say which resource was over, and by how much."""

    kind: OutcomeKind
    message: str = ""
    details: tuple[str, ...] = ()
    resource: str = ""
    needed: int | None = None
    limit: int | None = None

    @property
    def fault(self) -> Fault:
        """Whose fault it is."""
        return FAULTS[self.kind]

    @property
    def remembered(self) -> bool:
        """Whether a failure may be stored as a negative result of this candidate."""
        return self.fault is Fault.CANDIDATE

    @property
    def retried(self) -> bool:
        """Whether the same work should be given out again."""
        return self.fault is Fault.INFRASTRUCTURE


def of_reply(reply: Reply, step: Step) -> Outcome | None:
    """The outcome of a step that did not return; None for :class:`Returned`, whose value speaks for itself."""
    match reply:
        case Returned():
            return None
        case Refused(code=code, message=message, place=place):
            return _refused(code, f"{message} (at {place})" if place else message)
        case Raised(type=kind, message=message) if step == "measure":
            # Ours: nothing that a kernel does raises an error of Python's.
            return Outcome(OutcomeKind.INFRASTRUCTURE, _short(f"{kind}: {message}"), ("measure_raised",))
        case Raised(type=kind, message=message):
            return Outcome(OutcomeKind.COMPILE_FAILED, _short(f"{kind}: {message}"), (f"{step}_raised",))
        case TimedOut(clock="start", limit_seconds=limit):
            return Outcome(
                OutcomeKind.INFRASTRUCTURE, f"the child did not start within {limit:g} s", ("start_timeout",)
            )
        case TimedOut(clock="launch", limit_seconds=limit):
            return Outcome(OutcomeKind.TIMED_OUT, f"a launch did not come back within {limit:.1f} s", ("hang",))
        case TimedOut(clock=clock, limit_seconds=limit):
            return Outcome(OutcomeKind.TIMED_OUT, f"{step} ran past {limit:g} s of {clock} time", (f"{clock}_time",))
        case Crashed(signal=signal.SIGKILL | signal.SIGTERM):
            return Outcome(OutcomeKind.INFRASTRUCTURE, f"somebody ended the {step} process", ("killed",))
        case Crashed(exit_code=code, signal=number, output_tail=tail):
            how = signal.Signals(number).name if number is not None else f"exit code {code}"
            return Outcome(OutcomeKind.CRASHED, _short(f"the {step} process ended by {how}: {tail}"), (how,))
        case OutOfMemory(used_bytes=used, limit_bytes=limit) if used <= limit:
            return Outcome(OutcomeKind.INFRASTRUCTURE, f"this machine ran out of memory in {step}", ("machine_memory",))
        case OutOfMemory(used_bytes=used, limit_bytes=limit):
            message = f"{step} took {used >> 20} MiB of host memory, {limit >> 20} MiB are allowed"
            return Outcome(OutcomeKind.OVER_RESOURCE, message, ("host_memory",), "host memory", used, limit)
        case OutputExceeded(limit_bytes=limit):
            message = f"{step} printed or answered more than {limit} bytes"
            return Outcome(OutcomeKind.OVER_RESOURCE, message, ("output",), "output", None, limit)
        case ProtocolBroken(message=message):
            return Outcome(OutcomeKind.INFRASTRUCTURE, message, ("protocol",))
        case Cancelled():
            return Outcome(OutcomeKind.CANCELLED)


def _refused(code: str, message: str) -> Outcome:
    kind = _REFUSALS.get(code, OutcomeKind.COMPILE_FAILED)
    if code.startswith("not-applicable"):
        kind = OutcomeKind.NOT_APPLICABLE
    return Outcome(kind, _short(message), (code,))


_REFUSALS: dict[str, OutcomeKind] = {
    "unknown-task": OutcomeKind.INFRASTRUCTURE,
    "extra-missing": OutcomeKind.NOT_APPLICABLE,
    "toolchain-missing": OutcomeKind.NOT_APPLICABLE,
    "device-missing": OutcomeKind.NOT_APPLICABLE,
    "device-lost": OutcomeKind.DEVICE_LOST,
    "device-busy": OutcomeKind.CONTENDED,
    "reference-failed": OutcomeKind.REFERENCE_FAILED,
    "kernel-faulted": OutcomeKind.CRASHED,
    "launch-failed": OutcomeKind.LAUNCH_FAILED,
    "artifact-damaged": OutcomeKind.INFRASTRUCTURE,
    "wrong-arch": OutcomeKind.NOT_APPLICABLE,
}


def _short(text: str, limit: int = 2000) -> str:
    return text if len(text) <= limit else text[: limit // 2] + " ... " + text[-limit // 2 :]
