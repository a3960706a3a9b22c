"""How often loops run: real trip counts, and estimates for those that only the launch knows.

Bound, proven interval and forecast weigh loops by these numbers, so they are of one kernel.
"""

from dataclasses import dataclass
from math import ceil, prod

from warpwright.solver.domain.kernel import ROOT, KernelGraph, Memory

__all__ = ["ASSUMED_TRIPS", "Trips", "count_trips"]

ASSUMED_TRIPS = 64
"""Iterations assumed for a loop whose trip count does not follow from the kernel."""


@dataclass(frozen=True, slots=True)
class Trips:
    """Trips of a loop each time it is entered, by scope; ``estimated`` names those that are estimates."""

    by_scope: dict[str, int]
    estimated: tuple[str, ...]
    blocks: int
    """Blocks of the grid; symbolic extents count as one SM-filling wave and are named in ``estimated``."""
    parents: dict[str, str | None]

    def entries(self, scope: str) -> int:
        """How often a scope is entered in one block."""
        parent = self.parents[scope]
        return 1 if parent is None or parent == ROOT else self.by_scope[parent] * self.entries(parent)

    def total(self, scope: str) -> int:
        """Iterations of a scope in one block; 1 for the root."""
        return 1 if scope == ROOT else self.by_scope[scope] * self.entries(scope)


def count_trips(graph: KernelGraph, sms: int) -> Trips:
    """Trip counts of a kernel on a device with so many multiprocessors."""
    estimated: list[str] = []
    blocks = prod(extent if extent is not None else 1 for extent in graph.grid)
    if any(extent is None for extent in graph.grid):
        estimated.append("grid")
        blocks = max(blocks, sms)
    trips: dict[str, int] = {}
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
    return Trips(trips, tuple(estimated), blocks, {scope.id: scope.parent for scope in graph.scopes})


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
