"""Progress of a running task: ``emit({...})`` in the child reaches the parent's ``on_event`` at once.

Outside a child (a unit test that calls the task function) an event goes nowhere.
"""

from collections.abc import Callable
from typing import Any

__all__ = ["connect", "emit"]

Sink = Callable[[dict[str, Any]], None]

_sink: Sink | None = None


def connect(sink: Sink | None) -> None:
    """Sets where events of this process go; the child's loop calls it around each task."""
    global _sink
    _sink = sink


def emit(event: dict[str, Any]) -> None:
    """Sends one JSON object to the parent."""
    if _sink is not None:
        _sink(event)
