"""The task runner port: where one JSON task runs, on this machine or on another, and how its files are returned."""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from warpwright.tuning.children import Limits, Reply
from warpwright.tuning.children.process import OnEvent

__all__ = ["TaskAnswer", "TaskRunner"]


@dataclass(frozen=True, slots=True)
class TaskAnswer:
    """A reply and the files that the task wrote into its output folder, by name."""

    reply: Reply
    files: dict[str, bytes] = field(default_factory=dict)


class TaskRunner(Protocol):
    """Runs registered tasks. Thread-safe; blocks its caller; nothing that a task or its process does raises here.
    If the broker does not answer within the time limit, it raises ``Outage``; no task is to blame for that.

    ``cancel`` ends the task and all its processes within a second. If ``output`` is true, the runner gives the task a
    folder of its own under the payload's key ``output``, and returns what is in it; ``inputs`` are files that the task finds
    in the folder under its key ``input``. ``on_event`` is called from the caller's thread with what the task emits, at least
    once: a task that is sent out again begins anew.
    """

    def run(
        self,
        task: str,
        payload: dict[str, Any],
        limits: Limits,
        *,
        cancel: threading.Event,
        trace: str = "",
        output: bool = False,
        on_event: OnEvent | None = None,
        inputs: Mapping[str, bytes] | None = None,
    ) -> TaskAnswer:
        """Run one task to its answer."""
        ...

    def offers(self, capability: str) -> bool:
        """Whether a worker would now take tasks of a capability such as ``measure.h200``."""
        ...

    def missing(self, capabilities: Sequence[str]) -> tuple[str, ...]:
        """Those of the capabilities that no worker offers; empty if the broker, which would know, does not answer."""
        ...

    def compilers(self, capability: str) -> str:
        """The compilers of a capability such as ``compile.cuda``; empty if they are this machine's, or unknown."""
        ...

    def available(self) -> bool:
        """Whether tasks could be sent out now; there may still be no worker for them."""
        ...

    def close(self) -> None:
        """End everything that runs here."""
        ...
