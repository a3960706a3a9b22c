"""What a child's reply means for the candidate whose step it was."""

import signal
from typing import Literal

from warpwright.lowering.outcome import StepOutcome
from warpwright.solver.domain import Outcome
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

__all__ = ["ChildStep", "of_reply"]

ChildStep = Literal["frontend", "materialize", "compile", "measure"]
"""The steps of a candidate that run in children."""


def of_reply(reply: Reply, step: ChildStep) -> StepOutcome | None:
    """The outcome of a step that did not return; None for :class:`Returned`, whose value speaks for itself."""
    match reply:
        case Returned():
            return None
        case Refused(code=code, message=message, place=place):
            return _refused(code, f"{message} (at {place})" if place else message)
        case Raised(type=kind, message=message) if step == "measure":
            # A bug in Warpwright: nothing that a kernel does raises an error of Python's.
            return StepOutcome(Outcome.INFRASTRUCTURE, _short(f"{kind}: {message}"), ("measure_raised",))
        case Raised(type=kind, message=message):
            return StepOutcome(Outcome.COMPILE_FAILED, _short(f"{kind}: {message}"), (f"{step}_raised",))
        case TimedOut(clock="start", limit_seconds=limit):
            return StepOutcome(
                Outcome.INFRASTRUCTURE, f"the child did not start within {limit:g} s", ("start_timeout",)
            )
        case TimedOut(clock="launch", limit_seconds=limit):
            return StepOutcome(Outcome.TIMED_OUT, f"a launch did not return within {limit:.1f} s", ("hang",))
        case TimedOut(clock=clock, limit_seconds=limit):
            return StepOutcome(Outcome.TIMED_OUT, f"{step} ran past {limit:g} s of {clock} time", (f"{clock}_time",))
        case Crashed(signal=signal.SIGKILL | signal.SIGTERM):
            return StepOutcome(Outcome.INFRASTRUCTURE, f"the {step} process was killed from outside", ("killed",))
        case Crashed(exit_code=code, signal=number, output_tail=tail):
            how = signal.Signals(number).name if number is not None else f"exit code {code}"
            return StepOutcome(Outcome.CRASHED, _short(f"the {step} process ended by {how}: {tail}"), (how,))
        case OutOfMemory(used_bytes=used, limit_bytes=limit) if used <= limit:
            return StepOutcome(Outcome.INFRASTRUCTURE, f"this machine ran out of memory in {step}", ("machine_memory",))
        case OutOfMemory(used_bytes=used, limit_bytes=limit):
            message = f"{step} used {used >> 20} MiB of host memory, at most {limit >> 20} MiB are allowed"
            return StepOutcome(Outcome.OVER_RESOURCE, message, ("host_memory",), "host memory", used, limit)
        case OutputExceeded(limit_bytes=limit):
            message = f"{step} printed or answered more than {limit} bytes"
            return StepOutcome(Outcome.OVER_RESOURCE, message, ("output",), "output", None, limit)
        case ProtocolBroken(message=message):
            return StepOutcome(Outcome.INFRASTRUCTURE, message, ("protocol",))
        case Cancelled():
            return StepOutcome(Outcome.CANCELLED)


def _refused(code: str, message: str) -> StepOutcome:
    kind = _REFUSALS.get(code, Outcome.COMPILE_FAILED)
    if code.startswith("not-applicable"):
        kind = Outcome.NOT_APPLICABLE
    return StepOutcome(kind, _short(message), (code,))


_REFUSALS: dict[str, Outcome] = {
    "unknown-task": Outcome.INFRASTRUCTURE,
    "extra-missing": Outcome.NOT_APPLICABLE,
    "toolchain-missing": Outcome.NOT_APPLICABLE,
    "device-missing": Outcome.NOT_APPLICABLE,
    "device-lost": Outcome.DEVICE_LOST,
    "device-busy": Outcome.CONTENDED,
    "reference-failed": Outcome.REFERENCE_FAILED,
    "kernel-faulted": Outcome.CRASHED,
    "launch-failed": Outcome.LAUNCH_FAILED,
    "artifact-damaged": Outcome.INFRASTRUCTURE,
    "wrong-arch": Outcome.NOT_APPLICABLE,
}


def _short(text: str, limit: int = 2000) -> str:
    return text if len(text) <= limit else text[: limit // 2] + " ... " + text[-limit // 2 :]
