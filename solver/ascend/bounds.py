"""Lower bounds of the initiation interval, each with what gives it.

Resource bound: tasks that exclude each other pairwise issue one after the other, so an interval is at least the sum of
their issue intervals; the heaviest such set is a maximum-weight clique of the exclusion graph (a pipe is a clique, and so
are two pipes on one HBM port). Recurrence bound: a cycle of dependences needs ``II >= lag / distance`` (the minimum-ratio
cycle; Rau, 1994), with every version count at its largest.
"""

from warpwright.solver.ascend.encoding import Network
from warpwright.solver.ascend.problem import LoopProblem, Problem
from warpwright.solver.domain import Bound

__all__ = ["clique_bound", "clique_tasks", "heaviest_clique", "issue_bound", "recurrence_bound"]


def issue_bound(problem: LoopProblem) -> Bound:
    """No task may issue again before its own issue interval has passed."""
    cycles = max(problem.iis)
    return Bound(max(cycles, 1), f"issue:task {problem.iis.index(cycles)}")


def clique_tasks(problem: Problem, network: Network) -> tuple[int, ...]:
    """The heaviest set of tasks that exclude each other by issue interval."""
    pairs = {(x.first, x.second) for x in network.exclusions if x.family == "pipe_exclusion"}
    return heaviest_clique(problem.iis, pairs)[1]


def clique_bound(problem: LoopProblem, network: Network) -> Bound:
    """The heaviest set of tasks that exclude each other, by issue interval; owner pairs by their two lags."""
    tasks = clique_tasks(problem, network)
    weight = sum(problem.iis[t] for t in tasks)
    best = Bound(weight, "resource:tasks " + ",".join(map(str, tasks)))
    for x in network.exclusions:
        if x.forward + x.backward > best.cycles:
            best = Bound(x.forward + x.backward, f"resource:tasks {x.first},{x.second}")
    return best


def heaviest_clique(weights: tuple[int, ...], pairs: set[tuple[int, int]]) -> tuple[int, tuple[int, ...]]:
    """Maximum-weight clique by branch and bound (exact); returns its weight and its members in order."""
    neighbours: list[set[int]] = [set() for _ in weights]
    for a, b in pairs:
        neighbours[a].add(b)
        neighbours[b].add(a)
    order = sorted(range(len(weights)), key=lambda t: (-weights[t], t))
    best_weight = 0
    best: tuple[int, ...] = ()
    stack: list[tuple[int, tuple[int, ...], list[int]]] = [(0, (), order)]
    while stack:
        weight, members, candidates = stack.pop()
        if weight > best_weight:
            best_weight, best = weight, members
        rest = weight + sum(weights[c] for c in candidates)
        children = []
        for position, task in enumerate(candidates):
            if rest <= best_weight:
                break
            later = [c for c in candidates[position + 1 :] if c in neighbours[task]]
            children.append((weight + weights[task], (*members, task), later))
            rest -= weights[task]
        stack += reversed(children)
    return best_weight, tuple(sorted(best))


def recurrence_bound(network: Network, interval: int) -> Bound | None:
    """The minimum-ratio recurrence at or above ``interval``, and the tasks on it; None when a cycle fits no interval.

    Newton's iteration on the interval (Lawler, 1966): a positive cycle at the present interval gives the next one as
    ``ceil(lag / distance)``; when no cycle is positive the last one was critical.
    """
    arcs = [(a.source, a.target, a.lag, a.distance) for a in network.arcs]
    arcs += [(a.source, a.target, a.lag, network.max_versions[a.buffer]) for a in network.version_arcs]
    reason = ""
    while True:
        cycle = _positive_cycle(network.tasks, arcs, interval)
        if cycle is None:
            return Bound(interval, reason or "recurrence:none above")
        lag, distance = sum(arcs[a][2] for a in cycle), sum(arcs[a][3] for a in cycle)
        if distance <= 0:
            return None
        interval = -(-lag // distance)
        reason = "recurrence:" + "->".join(str(arcs[a][0]) for a in cycle) + f", {lag} cycles over {distance}"


def _positive_cycle(tasks: int, arcs: list[tuple[int, int, int, int]], interval: int) -> list[int] | None:
    """Arc indices of a cycle with ``sum lag > interval * sum distance`` (Bellman and Ford with predecessors)."""
    reach, via = [0] * tasks, [-1] * tasks
    weights = [(u, v, lag - interval * distance) for u, v, lag, distance in arcs]
    last = -1
    for _ in range(tasks + 1):
        last = -1
        for index, (u, v, weight) in enumerate(weights):
            if reach[u] + weight > reach[v]:
                reach[v] = reach[u] + weight
                via[v] = index
                last = v
        if last < 0:
            return None
    for _ in range(tasks):
        last = arcs[via[last]][0]
    cycle: list[int] = []
    task = last
    while not cycle or task != last:
        cycle.append(via[task])
        task = arcs[via[task]][0]
    return cycle[::-1]
