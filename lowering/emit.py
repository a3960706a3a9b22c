"""Messages of a running task to its parent: events for ``on_event``, and deadlines of the current step.

Outside a child (a unit test that calls the task function) nothing is sent.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["connect", "emit", "expect", "within"]

Sink = Callable[[dict[str, Any]], None]

_sink: Sink | None = None


def connect(sink: Sink | None) -> None:
    """Sets the receiver of this process's frames; the child's loop calls it around each task."""
    global _sink
    _sink = sink


def emit(event: dict[str, Any]) -> None:
    """Sends one JSON object to the parent's ``on_event``."""
    _send({"kind": "event", "event": event})


def expect(seconds: float | None, what: str = "") -> None:
    """The next step ends within so many seconds, or the parent ends this process; None says that it has ended.

    The reply is then ``TimedOut("launch")`` with ``what``. For work that may never return and that nothing in this process
    could end, such as a launch.
    """
    _send({"kind": "within", "seconds": seconds, "what": what})


@contextmanager
def within(seconds: float, what: str) -> Iterator[None]:
    """The body ends within so many seconds: :func:`expect` around it."""
    expect(seconds, what)
    try:
        yield
    finally:
        expect(None)


def _send(frame: dict[str, Any]) -> None:
    if _sink is not None:
        _sink(frame)
