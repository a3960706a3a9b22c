"""How well a forecast orders measured candidates: by rank over all, and by the best of the first few."""

import math
from collections.abc import Sequence

__all__ = ["TOP", "kendall_tau", "top_fraction"]

TOP = 8
"""Candidates that a tuning builds and measures by default."""


def kendall_tau(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Kendall's tau-b of two equally long sequences, from -1 to 1; None if one of them is constant, because then
    there is no order.

    Quadratic in their length; Kendall (1945), "The treatment of ties in ranking problems".
    """
    concordant = first_only = second_only = 0
    for i in range(len(first)):
        for j in range(i):
            a, b = first[i] - first[j], second[i] - second[j]
            first_only += a != 0
            second_only += b != 0
            if a and b:
                concordant += 1 if (a > 0) == (b > 0) else -1
    return concordant / math.sqrt(first_only * second_only) if first_only and second_only else None


def top_fraction(predicted: Sequence[float], measured: Sequence[float], count: int = TOP) -> float:
    """Best measured time of all over the best among the ``count`` best predicted (ties by position); 1 is all of it."""
    chosen = sorted(range(len(predicted)), key=lambda i: (predicted[i], i))[:count]
    return min(measured) / min(measured[i] for i in chosen)
