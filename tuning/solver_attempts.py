"""Retries of a solve whose child dies: once more with another seed, then with the other engine; after that it is a
bug in Warpwright.

A constraint solver is native code. If a signal ends it, the kernel is not to blame, and another path through the search
often avoids the same bug.
"""

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from warpwright.tuning.children import Crashed, Reply

__all__ = ["OTHER_ENGINE", "answered", "died"]

OTHER_ENGINE = {"cpsat": "z3", "z3": "cpsat", "exact": "cpsat", "enumerate": "cpsat"}
"""The engine that is tried after one has died twice."""

Answer = TypeVar("Answer")


def died(reply: Reply) -> bool:
    """Whether a signal ended the child, which no request can cause."""
    return isinstance(reply, Crashed) and reply.signal is not None


def answered(
    ask: Callable[[dict[str, Any]], Answer], payload: dict[str, Any], reply_of: Callable[[Answer], Reply]
) -> Answer:
    """The first answer whose child did not die, else the last one.

    Args:
        ask: runs the task once with a payload.
        payload: the task's input; ``seed`` and ``engine`` differ from one attempt to the next.
        reply_of: the child's reply in an answer.
    """
    answer = ask(payload)
    for other in _others(payload):
        if not died(reply_of(answer)):
            break
        answer = ask(other)
    return answer


def _others(payload: dict[str, Any]) -> Iterator[dict[str, Any]]:
    seeded = {**payload, "seed": int(payload.get("seed", 0)) + 1}
    yield seeded
    yield {**seeded, "engine": OTHER_ENGINE[str(payload.get("engine", "cpsat"))]}
