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


@dataclass(frozen=True, slots=True)
class Loops:
    """Trips of every loop, and by scope the simulated ones."""

    counted: Trips
    played: dict[str, int]

    def played_entries(self, scope: str) -> int:
        """How often a scope is entered in the simulated part of one block."""
        parent = self.counted.parents[scope]
        return 1 if parent is None or parent == ROOT else self.played[parent] * self.played_entries(parent)


def loops_of(graph: KernelGraph, sms: int, played: int) -> Loops:
    """Trip counts of a kernel; at most ``played`` iterations of an innermost loop are simulated."""
    counted = count_trips(graph, sms)
    parents = set(counted.parents.values())
    shown = {
        scope: min(trips, PLAYED_OUTER if scope in parents else played) for scope, trips in counted.by_scope.items()
    }
    return Loops(counted, shown)
