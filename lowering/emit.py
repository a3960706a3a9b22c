"""What a running task tells its parent at once: events for ``on_event``, and how long what it does now may take.

Outside a child (a unit test that calls the task function) nothing goes anywhere.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["connect", "emit", "expect", "within"]

Sink = Callable[[dict[str, Any]], None]

_sink: Sink | None = None


def connect(sink: Sink | None) -> None:
    """Sets where frames of this process go; the child's loop calls it around each task."""
    global _sink
    _sink = sink


def emit(event: dict[str, Any]) -> None:
    """Sends one JSON object to the parent's ``on_event``."""
    _send({"kind": "event", "event": event})


def expect(seconds: float | None, what: str = "") -> None:
    """What follows is over within so many seconds, else the parent ends this process; None says that it is over.

    The reply is then ``TimedOut("launch")`` with ``what``. For work that may never come back and that nothing in this process
    could end, such as a launch.
    """
    _send({"kind": "within", "seconds": seconds, "what": what})


@contextmanager
def within(seconds: float, what: str) -> Iterator[None]:
    """What the body does is over within so many seconds: :func:`expect` around it."""
    expect(seconds, what)
    try:
        yield
    finally:
        expect(None)


def _send(frame: dict[str, Any]) -> None:
    if _sink is not None:
        _sink(frame)
