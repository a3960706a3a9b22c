"""Cycles below which no schedule of a whole kernel goes: the counting of ``total_cycles`` with every loop at its bound.

Apart from ``total_cycles``, because a bound needs the search's propagation, which verifying a schedule does not.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from warpwright.solver.ascend.bounds import clique_bound, clique_tasks, issue_bound
from warpwright.solver.ascend.families import build_network
from warpwright.solver.ascend.optimise import length_bound
from warpwright.solver.ascend.problem import LoopProblem, Problem
from warpwright.solver.ascend.search import Search
from warpwright.solver.ascend.total_cycles import loop_cycles, trips_known, waves
from warpwright.solver.domain import ROOT, HardwareProfile, KernelGraph

__all__ = ["least_length", "total_bound"]


def total_bound(
    graph: KernelGraph,
    profile: HardwareProfile,
    problems: Mapping[str, tuple[tuple[str, ...], Problem]],
    bounds: Mapping[str, int],
) -> int | None:
    """Cycles below which no schedule of the kernel goes; None where ``total_cycles`` has no total.

    Args:
        graph: The kernel.
        profile: The device.
        problems: Items and problem of each scope by its id, inner scopes first.
        bounds: A proven bound of each scope's interval (or of a straight-line list's makespan), by its id. It holds for
            the nested loops as the problem has them; where they can be faster, a weaker bound is computed here.
    """
    rounds = waves(graph, profile)
    scopes = {scope.id: scope for scope in graph.scopes}
    if rounds is None or not trips_known(scopes[ROOT], scopes):
        return None
    least = {op.id: _Least(op.latency_cycles) for op in graph.ops}
    for name, (items, problem) in problems.items():
        fastest = _fastest(items, problem, least)
        length = least_length(fastest)
        if not isinstance(fastest, LoopProblem):
            least[name] = _Least(max(length, bounds[name]) if fastest == problem else length)
            continue
        interval = bounds[name] if fastest == problem else _interval_bound(fastest)
        trips = scopes[name].trips
        assert trips is not None
        least[name] = _Least(loop_cycles(trips, interval, length), interval * max(0, trips - 1))
    top = ROOT if ROOT in problems else next(iter(scopes[ROOT].items), ROOT)
    return rounds * least[top].cycles if top in least else None


@dataclass(frozen=True, slots=True)
class _Least:
    """Fewest cycles of an item, and cycles between its first and its last iteration; None if it is an operation."""

    cycles: int
    rounds: int | None = None


def _fastest(items: tuple[str, ...], problem: Problem, least: Mapping[str, _Least]) -> Problem:
    """The problem with every nested loop as fast as its own bound.

    A lag from a faster loop keeps what its earlier iterations take; a lag to one is dropped, because it may read later.
    """
    known = [least.get(item) for item in items]
    faster = {
        task
        for task, item in enumerate(known)
        if item is not None and item.rounds is not None and item.cycles < problem.latencies[task]
    }
    if not faster:
        return problem

    def cycles(task: int, value: int) -> int:
        item = known[task]
        return item.cycles if task in faster and item is not None else value

    def lag(source: int, target: int, value: int) -> int:
        item = known[source]
        if target in faster:
            return 0
        return min(value, item.rounds or 0) if source in faster and item is not None else value

    latencies = tuple(cycles(task, value) for task, value in enumerate(problem.latencies))
    iis = tuple(cycles(task, value) for task, value in enumerate(problem.iis))
    owners = tuple((a, b, lag(a, b, f), lag(b, a, k)) for a, b, f, k in problem.owner_exclusion_deps)
    if isinstance(problem, LoopProblem):
        rows = tuple((u, v, d, lag(u, v, value)) for u, v, d, value in problem.data_deps)
        return replace(problem, latencies=latencies, iis=iis, data_deps=rows, owner_exclusion_deps=owners)
    arcs = tuple((u, v, lag(u, v, value)) for u, v, value in problem.data_deps)
    return replace(problem, latencies=latencies, iis=iis, data_deps=arcs, owner_exclusion_deps=owners)


def _interval_bound(problem: LoopProblem) -> int:
    return max(issue_bound(problem).cycles, clique_bound(problem, build_network(problem)).cycles)


def least_length(problem: Problem) -> int:
    """Cycles that one iteration takes at least, at any interval: the longest path, or one resource's tasks in turn."""
    network = build_network(problem)
    horizon = 2 * (sum(problem.latencies) + sum(problem.iis) + sum(row[-1] for row in problem.data_deps)) + 1
    root = Search(network, horizon).root(horizon)
    if root is None:
        return max(problem.latencies)
    return length_bound(root, network.lengths, clique_tasks(problem, network), problem.iis)
