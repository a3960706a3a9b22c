"""The task engine port: where one JSON task runs, on this machine or on another, and how its files come back."""

import threading
from dataclasses import dataclass, field
from typing import Any, Protocol

from lowering.children import Limits, Reply

__all__ = ["TaskAnswer", "TaskEngine"]


@dataclass(frozen=True, slots=True)
class TaskAnswer:
    """A reply and the files that the task wrote into its output folder, by name."""

    reply: Reply
    files: dict[str, bytes] = field(default_factory=dict)


class TaskEngine(Protocol):
    """Runs registered tasks. Thread-safe; blocks its caller; never raises for anything that a task or its process does.

    ``cancel`` ends the task and every process of it within a second. When ``output`` is true the engine gives the task a
    folder of its own under the payload's key ``output``, and returns what is in it.
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
    ) -> TaskAnswer:
        """Run one task to its answer."""
        ...

    def close(self) -> None:
        """End everything that runs here."""
        ...
