"""How many iterations of each loop are simulated exactly, beside the trip counts of :mod:`warpwright.solver.device.trips`.

A loop's steady state repeats; simulating a few iterations and extrapolating by its interval gives the same time as simulating
all of them. Only the innermost loops are shortened.
"""

from dataclasses import dataclass

from warpwright.solver.device.trips import Trips, count_trips
from warpwright.solver.domain import ROOT, KernelGraph

__all__ = ["Loops", "loops_of"]

PLAYED_OUTER = 2
"""Simulated iterations of a loop that contains loops: enough to include the transition from one to the next."""
PLAYED_INNER = 4
"""Simulated iterations of loops inside the headline loop."""


@dataclass(frozen=True, slots=True)
class Loops:
    """Trips of every loop, and by scope the simulated ones; ``headline`` is the loop that takes most, if it is known."""

    counted: Trips
    played: dict[str, int]
    headline: str = ""

    def played_entries(self, scope: str) -> int:
        """How often a scope is entered in the simulated part of one block."""
        parent = self.counted.parents[scope]
        return 1 if parent is None or parent == ROOT else self.played[parent] * self.played_entries(parent)

    def children(self, scope: str) -> tuple[str, ...]:
        """Loops directly inside a loop."""
        return tuple(child for child, parent in self.counted.parents.items() if parent == scope)

    def inner_first(self) -> tuple[str, ...]:
        """All loops, those inside another before it."""
        return tuple(sorted(self.played, key=lambda scope: -_depth(self.counted, scope)))


def loops_of(graph: KernelGraph, sms: int, played: int, headline: str = "") -> Loops:
    """Trip counts of a kernel; at most ``played`` iterations of an innermost loop, or of the headline loop, are simulated."""
    counted = count_trips(graph, sms)
    found = Loops(counted, {}, headline)
    shown: dict[str, int] = {}
    for scope in sorted(counted.by_scope, key=lambda each: -_depth(counted, each)):
        trips = counted.by_scope[scope]
        inside = [shown[child] for child in found.children(scope)]
        if scope != headline and _is_in(counted, scope, headline):
            shown[scope] = min(trips, PLAYED_INNER)
        elif scope == headline or not inside:
            shown[scope] = min(trips, played)
        else:
            # A short loop inside never settles within one entry: then several entries do.
            shown[scope] = min(trips, max(PLAYED_OUTER, -(-played // max(inside))))
    return Loops(counted, {scope: shown[scope] for scope in counted.by_scope}, headline)


def _depth(counted: Trips, scope: str) -> int:
    parent = counted.parents[scope]
    return 0 if parent is None else 1 + _depth(counted, parent)


def _is_in(counted: Trips, scope: str, loop: str) -> bool:
    """Whether a loop is inside another, or is it."""
    current: str | None = scope
    while current is not None and current != loop:
        current = counted.parents[current]
    return current is not None
