"""How much of a block's loads comes from device memory: reuse of tiles between the blocks that run at the same time.

A tensor that is loaded more often than its size is shared by blocks. Which grid axes share it follows from the ratio of
bytes loaded to the tensor's bytes: an axis whose extent divides the ratio does not index the tensor. The resident blocks cover a
patch of the grid (a panel when rasterisation is swizzled, else a run along the fastest axis); a tile is fetched once for
all blocks of the patch that share it.
"""

from math import prod, sqrt

from warpwright.solver.device.trips import Trips
from warpwright.solver.domain.kernel import KernelGraph, Memory, Op

__all__ = ["global_loads", "misses"]

PANEL = 10
"""Width of the rasterisation panel of ``T.use_swizzle``: the graph only says that there is one; 10 is the usual width."""


def global_loads(graph: KernelGraph) -> list[tuple[Op, str]]:
    """Operations that load from a global buffer into the chip, with that buffer's name."""
    result = []
    for op in graph.ops:
        names = [a.buffer for a in op.reads if graph.buffer(a.buffer).memory is Memory.GLOBAL]
        if names and all(graph.buffer(a.buffer).memory is not Memory.GLOBAL for a in op.writes):
            result.append((op, names[0]))
    return result


def misses(graph: KernelGraph, trips: Trips, resident: int, l2_bytes: float) -> dict[str, float]:
    """Share of an operation's loaded bytes that comes from memory, by operation id.

    ``resident`` is how many blocks run at the same time. A kernel whose tensors all fit in L2 fetches each byte once.
    """
    extents = [extent if extent is not None else 1 for extent in graph.grid]
    patch = _patch(extents, resident, swizzle=graph.swizzle)
    tensors = {name for _, name in global_loads(graph)}
    fits = sum(graph.buffer(name).bytes for name in tensors) <= l2_bytes
    result: dict[str, float] = {}
    taken: set[frozenset[int]] = set()
    for op, name in global_loads(graph):
        tile = sum(access.bytes for access in op.writes)
        entries = 1
        if graph.scope(op.scope).parent is not None:
            entries = trips.total(op.scope)
        size = graph.buffer(name).bytes
        if size <= 0:
            result[op.id] = 1.0
            continue
        reuse = max(1.0, tile * entries * trips.blocks / size)
        shared_axes = _axes(extents, reuse, taken)
        if shared_axes is None:
            # Persistent blocks visit tiles in their own order; such orders aim at a square patch.
            together = sqrt(resident)
        else:
            taken.add(shared_axes)
            together = prod(patch[axis] for axis in shared_axes)
        result[op.id] = 1.0 / reuse if fits else 1.0 / max(1.0, min(together, reuse))
    return result


def _patch(extents: list[int], resident: int, *, swizzle: bool) -> list[int]:
    """Extent of the running blocks along each grid axis, the first axis being the fastest."""
    left = max(1, resident)
    patch = []
    for axis, extent in enumerate(extents):
        limit = extent
        if swizzle and axis == 0 and len(extents) > 1 and extents[1] > 1:
            limit = min(extent, PANEL)
        patch.append(max(1, min(limit, left)))
        left = -(-left // patch[-1])
    return patch


def _axes(extents: list[int], reuse: float, taken: set[frozenset[int]]) -> frozenset[int] | None:
    """The axes whose extents multiply to the reuse, preferring a set that no other tensor uses; None if none fits."""
    axes = range(len(extents))
    subsets = [frozenset(a for a in axes if mask >> a & 1) for mask in range(1 << len(extents))]
    fitting = [s for s in subsets if abs(prod(extents[a] for a in s) - reuse) <= 0.25 * reuse]
    return min(fitting, key=lambda s: (s in taken, sorted(s))) if fitting else None
