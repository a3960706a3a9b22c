"""Trip counts for a simulated schedule: real ones, estimates for symbolic ones, and how many iterations are simulated exactly.

A loop's steady state repeats; simulating a few iterations and extrapolating by its interval gives the same time as simulating
all of them. Only the innermost loops are shortened.
"""

from dataclasses import dataclass
from math import ceil, prod

from warpwright.solver.domain import ROOT, KernelGraph, Memory

__all__ = ["ASSUMED_TRIPS", "Loops", "loops_of"]

ASSUMED_TRIPS = 64
"""Iterations assumed for a loop whose trip count does not follow from the kernel."""
PLAYED_OUTER = 2
"""Simulated iterations of a loop that contains loops: enough to include the transition from one to the next."""


@dataclass(frozen=True, slots=True)
class Loops:
    """Trips by scope: ``trips`` are the real (or estimated) ones, ``played`` the simulated ones; ``estimated`` names
    the estimates.
    """

    trips: dict[str, int]
    played: dict[str, int]
    estimated: tuple[str, ...]
    blocks: int
    """Blocks of the grid; symbolic extents count as one SM-filling wave and are named in ``estimated``."""

    def entries(self, graph: KernelGraph, scope: str) -> int:
        """How often a scope is really entered in one block."""
        parent = graph.scope(scope).parent
        return 1 if parent is None or parent == ROOT else self.trips[parent] * self.entries(graph, parent)

    def played_entries(self, graph: KernelGraph, scope: str) -> int:
        """How often a scope is entered in the simulated part of one block."""
        parent = graph.scope(scope).parent
        return 1 if parent is None or parent == ROOT else self.played[parent] * self.played_entries(graph, parent)


def loops_of(graph: KernelGraph, sms: int, played: int) -> Loops:
    """Trip counts of a kernel; at most ``played`` iterations of an innermost loop are simulated."""
    estimated: list[str] = []
    blocks = prod(extent if extent is not None else 1 for extent in graph.grid)
    if any(extent is None for extent in graph.grid):
        estimated.append("grid")
        blocks = max(blocks, sms)
    parents = {scope.parent for scope in graph.scopes}
    trips: dict[str, int] = {}
    shown: dict[str, int] = {}
    for scope in graph.scopes:
        if scope.id == ROOT:
            continue
        count = scope.trips
        if count is None:
            count = _from_runs(graph, scope.id, blocks * _outside(graph, scope.parent, trips))
            if count is None:
                estimated.append(scope.id)
                count = _from_stores(graph, scope.id, blocks)
        trips[scope.id] = max(1, count)
        shown[scope.id] = min(trips[scope.id], PLAYED_OUTER if scope.id in parents else played)
    return Loops(trips, shown, tuple(estimated), blocks)


def _outside(graph: KernelGraph, scope: str | None, trips: dict[str, int]) -> int:
    """How often a block enters the children of a scope."""
    return (
        1 if scope is None or scope == ROOT else trips.get(scope, 1) * _outside(graph, graph.scope(scope).parent, trips)
    )


def _from_runs(graph: KernelGraph, scope: str, entries: int) -> int | None:
    """Mean trips of a loop whose operations say how often a launch runs them; None if they do not."""
    runs = [op.runs for op in graph.ops_in(scope) if op.runs is not None and not op.guarded]
    return ceil(max(runs) / entries) if runs else None


def _from_stores(graph: KernelGraph, scope: str, blocks: int) -> int:
    """A persistent loop stores one tile of a tensor an iteration: tensor bytes / tile bytes / blocks."""
    for op in graph.ops_in(scope):
        for access in op.writes:
            buffer = graph.buffer(access.buffer)
            if buffer.memory is Memory.GLOBAL and access.bytes > 0 and buffer.bytes > access.bytes:
                return ceil(buffer.bytes / access.bytes / blocks)
    return ASSUMED_TRIPS
