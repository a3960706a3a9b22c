"""The possible replies of a supervised task: a closed union, one class per case.

Nothing here says who caused it; ``warpwright.lowering.outcome`` decides that for the step that was run.
"""

from dataclasses import dataclass, field
from typing import Any, Literal

__all__ = [
    "Cancelled",
    "Crashed",
    "OutOfMemory",
    "OutputExceeded",
    "ProtocolBroken",
    "Raised",
    "Refused",
    "Reply",
    "Returned",
    "TimedOut",
]


@dataclass(frozen=True, slots=True)
class Returned:
    """The task's JSON result. ``output_tail`` is the end of what it printed, for logs."""

    value: dict[str, Any]
    seconds: float = 0.0
    output_tail: str = ""


@dataclass(frozen=True, slots=True)
class Refused:
    """The task raised an expected error (``WarpwrightError``): a stable code, a message, a place.

    ``error`` is the class's name (``ForeignCode``, ``NotApplicable``, ...), for callers that decide by the kind of error.
    """

    code: str
    message: str
    place: str | None = None
    error: str = "WarpwrightError"


@dataclass(frozen=True, slots=True)
class Raised:
    """The task raised anything else. ``trace`` is the child's traceback text."""

    type: str
    message: str
    trace: str = ""


@dataclass(frozen=True, slots=True)
class TimedOut:
    """A clock ran out and the process tree was killed. ``start`` means that the child did not get as far as the work.

    ``launch``: the task had announced that a step ends within a time limit (``warpwright.lowering.emit.within``), and it did
    not; ``what`` is the task's own name for it.
    """

    clock: Literal["wall", "cpu", "start", "launch"]
    limit_seconds: float
    output_tail: str = ""
    what: str = ""


@dataclass(frozen=True, slots=True)
class Crashed:
    """The process ended by itself without a reply: by a signal (``signal`` set) or an exit code."""

    exit_code: int | None
    signal: int | None
    output_tail: str = ""


@dataclass(frozen=True, slots=True)
class OutOfMemory:
    """The process tree grew over its memory limit, the allocator gave up, or the kernel's OOM killer took it."""

    used_bytes: int
    limit_bytes: int
    output_tail: str = ""


@dataclass(frozen=True, slots=True)
class OutputExceeded:
    """The task printed, or answered, more than its limit and was killed."""

    limit_bytes: int
    output_tail: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class ProtocolBroken:
    """The bytes on the reply pipe were not a frame. An infrastructure failure."""

    message: str


@dataclass(frozen=True, slots=True)
class Cancelled:
    """The caller's cancel flag was set; the process tree is gone."""


Reply = Returned | Refused | Raised | TimedOut | Crashed | OutOfMemory | OutputExceeded | ProtocolBroken | Cancelled
