"""Interchangeable tasks: swapping two of them (with their own buffers) maps the network onto itself.

The eight loads of a sum of eight inputs are an example: without an order among them, a proof visits 8! mirror images.
Any schedule can be permuted so that interchangeable tasks start in index order, so that order may be demanded.
"""

from warpwright.solver.ascend.encoding import Arc, Network
from warpwright.solver.ascend.problem import Problem

__all__ = ["interchangeable", "symmetry_arcs"]


def symmetry_arcs(problem: Problem, network: Network) -> list[Arc]:
    """``start_a <= start_b`` for neighbours in every class of interchangeable tasks; none when phases are absolute."""
    if network.phase_tasks():
        return []
    return [Arc(a, b, 0, 0, "symmetry") for a, b in interchangeable(problem, network)]


def interchangeable(problem: Problem, network: Network) -> list[tuple[int, int]]:
    """Pairs (a, b), a < b, of neighbouring members of one class, each verified to be an automorphism."""
    classes: dict[tuple[int, int, int], list[int]] = {}
    for task in range(problem.tasks):
        key = (problem.latencies[task], problem.iis[task], problem.resource_flags[task])
        classes.setdefault(key, []).append(task)
    pairs = []
    for members in classes.values():
        last: int | None = None
        for task in members:
            if last is not None and _swap_is_automorphism(network, last, task):
                pairs.append((last, task))
            last = task
    return pairs


def _swap_is_automorphism(network: Network, a: int, b: int) -> bool:
    swap = {a: b, b: a}

    def image(task: int) -> int:
        return swap.get(task, task)

    arcs: dict[tuple[int, int, int], int] = {}
    for x in network.arcs:
        arcs[x.source, x.target, x.distance] = max(arcs.get((x.source, x.target, x.distance), 0), x.lag)
    if any(arcs.get((image(u), image(v), d)) != lag for (u, v, d), lag in arcs.items() if u in swap or v in swap):
        return False
    if not _exclusions_map(network, a, b):
        return False
    buffers = _buffer_map(network, a, b)
    if buffers is None:
        return False
    rows = {(y.source, y.target, y.buffer): y.lag for y in network.version_arcs}
    for (u, v, buffer), lag in rows.items():
        if rows.get((image(u), image(v), buffers.get(buffer, buffer))) != lag:
            return False
    return all({buffers.get(m, m) for m in c.members} == set(c.members) for c in network.capacities)


def _exclusions_map(network: Network, a: int, b: int) -> bool:
    swap = {a: b, b: a}
    gaps: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for x in network.exclusions:
        gaps.setdefault((x.first, x.second), []).append((x.forward, x.backward))
        gaps.setdefault((x.second, x.first), []).append((x.backward, x.forward))
    for (i, j), values in gaps.items():
        if i in swap or j in swap:
            other = gaps.get((swap.get(i, i), swap.get(j, j)), [])
            if sorted(other) != sorted(values):
                return False
    return True


def _buffer_map(network: Network, a: int, b: int) -> dict[int, int] | None:
    """The exchange of a's and b's own buffers that could go with the swap, or None."""

    def signature(task: int, other: int, buffer: int) -> tuple[object, ...]:
        def place(t: int) -> int:
            return -1 if t == task else -2 if t == other else t

        rows = [(place(x.source), place(x.target), x.lag) for x in network.version_arcs if x.buffer == buffer]
        groups = tuple(buffer in c.members for c in network.capacities)
        return (network.sizes[buffer], network.max_versions[buffer], groups, tuple(sorted(rows)))

    touched: dict[int, set[int]] = {a: set(), b: set()}
    for x in network.version_arcs:
        for task in (a, b):
            if task in (x.source, x.target):
                touched[task].add(x.buffer)
    own_a, own_b = touched[a] - touched[b], touched[b] - touched[a]
    left = sorted((signature(a, b, x), x) for x in own_a)
    right = sorted((signature(b, a, x), x) for x in own_b)
    if [s for s, _ in left] != [s for s, _ in right]:
        return None
    mapping: dict[int, int] = {}
    for (_, mine), (_, other) in zip(left, right, strict=True):
        mapping[mine], mapping[other] = other, mine
    return mapping
