"""Replies of children as JSON and back, for task runners whose children are on other machines."""

from dataclasses import asdict
from typing import Any

from warpwright.tuning.children import (
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

__all__ = ["reply_from_json", "reply_to_json"]

_KINDS: dict[str, type[Any]] = {
    kind.__name__: kind
    for kind in (
        Returned,
        Refused,
        Raised,
        TimedOut,
        Crashed,
        OutOfMemory,
        OutputExceeded,
        ProtocolBroken,
        Cancelled,
    )
}


def reply_to_json(reply: Reply) -> dict[str, Any]:
    """The reply's fields and the name of its kind."""
    return {"kind": type(reply).__name__, **asdict(reply)}


def reply_from_json(document: dict[str, Any]) -> Reply:
    """The reply; ``ProtocolBroken`` for anything else, so that no worker can cause an exception here."""
    kind = _KINDS.get(str(document.get("kind")))
    try:
        if kind is None:
            raise TypeError("no such kind")
        reply: Reply = kind(**{key: value for key, value in document.items() if key != "kind"})
    except TypeError as error:
        return ProtocolBroken(f"a worker's reply cannot be read: {error}")
    return reply
