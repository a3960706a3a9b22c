"""Spans of absolute cycles counted modulo the interval: the closed form that the families' checks share.

The number of copies of ``[start, end)`` that cover a cycle is a difference of two floor divisions; a peak can only be at
some span's start, so only those cycles are checked. :mod:`warpwright.solver.modulo.replay` counts every cycle instead.
"""

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["FullestCycle", "HeldSpan", "copies", "crowded", "peak"]


@dataclass(frozen=True, slots=True)
class HeldSpan:
    """``amount`` of something held by ``who`` in ``[start, end)`` of iteration 0, and in every later iteration."""

    who: str
    start: int
    end: int
    amount: int


@dataclass(frozen=True, slots=True)
class FullestCycle:
    """The fullest cycle of the steady state: phase, total, and who holds how much of it."""

    cycle: int
    total: int
    who: str


def copies(span: HeldSpan, cycle: int, interval: int) -> int:
    """How many iterations' copies of a span cover a cycle in the steady state."""
    return (cycle - span.start) // interval - (cycle - span.end) // interval


def peak(spans: Sequence[HeldSpan], interval: int) -> FullestCycle:
    """The fullest cycle; the first one if several are equally full."""
    best = FullestCycle(0, 0, "nobody")
    for point in sorted({span.start % interval for span in spans}):
        counts = [(span, copies(span, point, interval)) for span in spans]
        total = sum(span.amount * count for span, count in counts)
        if total > best.total:
            who = ", ".join(f"{span.who} {span.amount * count}" for span, count in counts if span.amount * count)
            best = FullestCycle(point, total, who)
    return best


def crowded(spans: Sequence[HeldSpan], interval: int, capacity: int) -> FullestCycle | None:
    """The fullest cycle, if it is over capacity."""
    found = peak(spans, interval)
    return found if found.total > capacity else None
