"""In which order the constructive search places operations: first the hardest, then its neighbours."""

from warpwright.solver.modulo.construct.shape import Shape

__all__ = ["orders"]


def orders(shape: Shape, interval: int, paths: list[dict[int, int]]) -> list[list[int]]:
    """Permutations of the operations, the most promising first."""
    share = _shares(shape, interval)
    weight = [max((share[unit] * cycles for unit, _, cycles, _ in uses), default=0.0) for uses in shape.uses]
    height = [max(row.values(), default=0) for row in paths]
    grown = _grown(shape, weight)
    by_unit = _grown_by(shape, share, grown)
    by_height = sorted(range(len(weight)), key=lambda op: (-height[op], op))
    return [grown, by_unit, by_height]


def _shares(shape: Shape, interval: int) -> list[float]:
    """Load of each unit as a share of its capacity in an interval."""
    busy = [0] * len(shape.unit_capacity)
    for uses in shape.uses:
        for unit, _, cycles, amount in uses:
            busy[unit] += cycles * amount
    return [load / (capacity * interval) for load, capacity in zip(busy, shape.unit_capacity, strict=True)]


def _grown(shape: Shape, weight: list[float]) -> list[int]:
    """From the heaviest operation along the edges, always the heaviest neighbour of the chosen ones; then the next component.

    Streamed inputs (variable latency) connect components that have nothing else in common, so growth does not cross them.
    """
    count = len(weight)
    streams = [op.variable_latency for op in shape.problem.ops]
    left, order = set(range(count)), []
    fringe: dict[int, None] = {}
    while left:
        pool = [op for op in fringe if op in left]
        if not pool:
            pool = [op for op in sorted(left) if not streams[op]] or sorted(left)
        best = max(pool, key=lambda op: (weight[op], -op))
        order.append(best)
        left.discard(best)
        if not streams[best]:
            for link in (*shape.into[best], *shape.out[best]):
                fringe[link.other] = None
    return order


def _grown_by(shape: Shape, share: list[float], grown: list[int]) -> list[int]:
    """All operations of nearly full units first, each class in grown order."""
    rank = {op: number for number, op in enumerate(grown)}
    full = [max((share[unit] for unit, *_ in uses), default=0.0) > 0.8 for uses in shape.uses]
    return sorted(grown, key=lambda op: (not full[op], rank[op]))
