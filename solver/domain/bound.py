"""A lower bound of an initiation interval with what gives it."""

from dataclasses import dataclass

__all__ = ["Bound"]


@dataclass(frozen=True, slots=True)
class Bound:
    """A lower bound of the initiation interval and what gives it (``resource:tensor_core``, ``recurrence:k->v``, ...)."""

    cycles: int
    reason: str
