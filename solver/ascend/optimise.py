"""Interval, then bytes, then schedule length: the levels of a loop, each ended with a proof if the work limit allows.

Interval: start from the lower bounds. When propagation at the bound already fails, bisect on propagation alone (each
failure excludes all smaller intervals, :mod:`warpwright.solver.ascend.encoding`), then search; a feasible interval is
improved at once to the smallest at which the same choices still work. Bytes: the counts that propagation demands are
tried first. Length: the longest path of the root is the bound. Straight-line lists are loops with an interval so long
that nothing wraps.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd

from warpwright.solver.ascend.bounds import clique_bound, clique_tasks, issue_bound, recurrence_bound
from warpwright.solver.ascend.encoding import Arc, Network
from warpwright.solver.ascend.families import build_network
from warpwright.solver.ascend.problem import LoopProblem, StraightProblem
from warpwright.solver.ascend.search import Meter, Search, SearchSolution, State, WorkSpent
from warpwright.solver.ascend.symmetry import symmetry_arcs
from warpwright.solver.domain import Bound

__all__ = [
    "QUICK",
    "SEARCHED",
    "STRAIGHT_BOUND",
    "NodeLimits",
    "Optimum",
    "least_by_bounds",
    "length_bound",
    "optimise_loop",
    "optimise_straight",
    "shortest",
    "straight_bound",
    "straight_network",
]


SEARCHED = "search:every order of the excluded pairs fails below"
"""The reason of a bound that the exact search proved."""
STRAIGHT_BOUND = "makespan:longest path, or tasks of one resource in turn"


@dataclass(frozen=True, slots=True)
class NodeLimits:
    """Search nodes for each level; the interval's limit bounds the cost of a proof."""

    interval: int = 60_000
    bytes: int = 3_000
    length: int = 240


QUICK = NodeLimits(interval=400, bytes=60, length=30)
"""A short search, for an answer before the whole one has ended: most scopes are proven within it."""


@dataclass(frozen=True, slots=True)
class Optimum:
    """The result of the levels. ``plan`` None with ``proven`` True: no interval at all works."""

    plan: SearchSolution | None
    interval: int | None
    bounds: tuple[Bound, ...]
    proven: bool
    bytes_bound: int
    bytes_proven: bool
    length: int
    length_bound: int
    length_proven: bool
    work: int


@dataclass(slots=True)
class _Interval:
    plan: SearchSolution | None
    interval: int
    bounds: list[Bound]
    proven: bool


def optimise_loop(problem: LoopProblem, limits: NodeLimits) -> Optimum:
    """The best schedule of a loop body within the limits."""
    network = build_network(problem)
    network.arcs += symmetry_arcs(problem, network)
    bounds = [issue_bound(problem), clique_bound(problem, network)]
    clique = clique_tasks(problem, network)
    search = Search(network, max(b.cycles for b in bounds))
    meter = Meter(limits.interval)
    found, root = _least_interval(problem, search, bounds, meter)
    if found.plan is None or root is None:
        return Optimum(None, None, tuple(found.bounds), found.proven, 0, False, 0, 0, False, meter.spent)
    plan, bytes_bound, bytes_proven, work = _fewest_bytes(problem, search, root, found.interval, found.plan, limits)
    cap = problem.bytes_of(plan.versions)
    plan, length, least, more = shortest(search, root, found.interval, plan, cap, clique, problem.iis, limits)
    return Optimum(
        plan,
        found.interval,
        tuple(found.bounds),
        found.proven,
        bytes_bound,
        bytes_proven,
        length,
        least,
        length == least,
        meter.spent + work + more,
    )


def optimise_straight(problem: StraightProblem, limits: NodeLimits) -> Optimum:
    """The shortest makespan of a straight-line list within the limits."""
    network, horizon = straight_network(problem)
    clique = clique_tasks(problem, network)
    search = Search(network, horizon)
    meter = Meter(limits.interval)
    root = search.root(horizon)
    try:
        plan = search.solve(root, meter) if root is not None else None
    except WorkSpent:
        return Optimum(None, None, (), False, 0, False, 0, 0, False, meter.spent)
    if root is None or plan is None:
        return Optimum(None, None, (), True, 0, False, 0, 0, False, meter.spent)
    plan, length, bound, more = shortest(
        search, root, horizon, plan, None, clique, problem.iis, NodeLimits(length=limits.interval)
    )
    bounds = [Bound(length_bound(root, network.lengths, clique, problem.iis), STRAIGHT_BOUND)]
    if bound > bounds[0].cycles:
        bounds.append(Bound(bound, SEARCHED))
    proven = length == bound
    return Optimum(plan, None, tuple(bounds), proven, 0, True, length, bound, proven, meter.spent + more)


def straight_bound(problem: StraightProblem) -> int:
    """Cycles that a straight-line list takes at least, by arithmetic alone."""
    network, horizon = straight_network(problem)
    root = Search(network, horizon).root(horizon)
    if root is None:
        return max(problem.latencies)
    return length_bound(root, network.lengths, clique_tasks(problem, network), problem.iis)


def straight_network(problem: StraightProblem) -> tuple[Network, int]:
    """The network of a straight-line list and an interval so long that nothing wraps around it."""
    network = build_network(problem)
    network.arcs += symmetry_arcs(problem, network)
    lags = [d[2] for d in problem.data_deps] + [lag for d in problem.owner_exclusion_deps for lag in d[2:]]
    horizon = 2 * (sum(problem.latencies) + sum(problem.iis) + sum(lags)) + 1
    for a in range(network.tasks):
        network.arcs += [Arc(a, b, 1, 1, "horizon") for b in range(network.tasks) if a != b]
    return network, horizon


def _least_interval(
    problem: LoopProblem, search: Search, bounds: list[Bound], meter: Meter
) -> tuple[_Interval, State | None]:
    """The least interval with a plan, and the propagated root there."""
    low, root = least_by_bounds(problem, search, bounds)
    if root is None:
        return _Interval(None, 0, bounds, True), None
    proven = True
    try:
        plan = search.solve(root, meter)
        if plan is not None:
            return _Interval(plan, low, bounds, True), root
    except WorkSpent:
        proven = False
    found = _between(problem, search, bounds, low + 1 if proven else low, meter, proven)
    return found, search.root(found.interval) if found.plan is not None else None


def least_by_bounds(problem: LoopProblem, search: Search, bounds: list[Bound]) -> tuple[int, State | None]:
    """The least interval that bounds and propagation leave, with its root; None when no interval is left.

    Appends the reasons that raised the bound to ``bounds``.
    """
    low = max(b.cycles for b in bounds)
    root = search.root(low)
    if root is not None:
        return low, root
    recurrence = recurrence_bound(search.network, low)
    if recurrence is None:
        return low, None
    if recurrence.cycles > low:
        low = recurrence.cycles
        bounds.append(recurrence)
        root = search.root(low)
    if root is None:
        low, root = _propagation_bound(problem, search, low + 1)
        if root is not None:
            bounds.append(Bound(low, "propagation:orders of excluded pairs that remain clash below"))
    return low, root


def _propagation_bound(problem: LoopProblem, search: Search, low: int) -> tuple[int, State | None]:
    """Least interval from ``low`` at which propagation finds no contradiction, by galloping, with its root."""
    step, top = 1, low
    ceiling = 4 * _horizon(problem)
    root = search.root(top)
    while root is None:
        if top > ceiling:
            return top, None
        low, top, step = top + 1, top + 2 * step, 2 * step
        root = search.root(top)
    while low < top:
        middle = (low + top) // 2
        state = search.root(middle)
        if state is None:
            low = middle + 1
        else:
            top, root = middle, state
    return top, root


def _horizon(problem: LoopProblem) -> int:
    lags = sum(d[3] for d in problem.data_deps) + sum(d[2] + d[3] for d in problem.owner_exclusion_deps)
    return sum(problem.latencies) + sum(problem.iis) + lags + 1


def _between(
    problem: LoopProblem, search: Search, bounds: list[Bound], low: int, meter: Meter, proven: bool
) -> _Interval:
    """Bisect above an interval that search excluded, between excluded and feasible ones."""
    best: SearchSolution | None = None
    top = max(sum(problem.latencies), sum(problem.iis), low) + 1
    ceiling = 4 * _horizon(problem)
    while best is None:
        best, known = _attempt(search, top, Meter(max(meter.limit // 4, 1)), meter)
        if best is None:
            if known:
                low = max(low, top + 1)
            if top > ceiling:
                return _Interval(None, 0, bounds, known and proven)
            top *= 2
    top = _tighten(search, best, low, top)
    floor = low if proven else None
    while low < top:
        middle = (low + top - 1) // 2 if low + 64 < top else top - 1
        share = Meter(max((meter.limit - meter.spent) // 2, 1))
        plan, known = _attempt(search, middle, share, meter)
        if plan is not None:
            best, top = plan, _tighten(search, plan, low, middle)
        else:
            if not known and middle < top - 1:
                low = middle + 1
                proven = False
                continue
            low = middle + 1
            if known and proven:
                floor = low
            proven = proven and known
    if floor is not None:
        bounds.append(Bound(floor, SEARCHED))
    return _Interval(best, top, bounds, proven)


def _attempt(search: Search, interval: int, share: Meter, meter: Meter) -> tuple[SearchSolution | None, bool]:
    """A plan at one interval, and whether the answer is certain."""
    root = search.root(interval)
    if root is None:
        return None, True
    try:
        return search.solve(root, share), True
    except WorkSpent:
        return None, False
    finally:
        meter.spent += share.spent


def _tighten(search: Search, plan: SearchSolution, low: int, top: int) -> int:
    """The smallest interval from ``low`` at which the plan's own choices work."""
    while low < top:
        middle = (low + top) // 2
        if search.feasible_choice(plan.choice, middle):
            top = middle
        else:
            low = middle + 1
    return top


def _fewest_bytes(
    problem: LoopProblem, search: Search, root: State, interval: int, plan: SearchSolution, limits: NodeLimits
) -> tuple[SearchSolution, int, bool, int]:
    """The plan of fewest bytes at this interval; a bound of the bytes, whether it is reached, the work."""
    low, top = problem.bytes_of(root.low), problem.bytes_of(plan.versions)
    best, used = plan, 0
    step = gcd(*problem.buffer_sizes) or 1
    high: list[int] | None = list(root.low)
    while low < top:
        limit = low if high is not None else low + (top - step - low) // (2 * step) * step
        meter = Meter(limits.bytes)
        state = search.root(interval, bytes_limit=limit, high=high)
        try:
            better = search.solve(state, meter) if state is not None else None
        except WorkSpent:
            if high is None:
                return best, low, False, used + meter.spent
            better, limit = None, low - step
        used += meter.spent
        if better is not None:
            best, top = better, problem.bytes_of(better.versions)
        elif high is None or all(problem.buffer_sizes):
            low = limit + step
        high = None
    return best, low, True, used


def shortest(
    search: Search,
    root: State,
    interval: int,
    plan: SearchSolution,
    bytes_limit: int | None,
    clique: tuple[int, ...],
    iis: tuple[int, ...],
    limits: NodeLimits,
) -> tuple[SearchSolution, int, int, int]:
    """The plan of least length at this interval and these bytes; its length, a bound, the work."""
    lengths = search.network.lengths
    low, top = length_bound(root, lengths, clique, iis), _length(plan, lengths)
    best, spent = plan, 0
    if low < top and bytes_limit is not None:
        tighter = search.root(interval, bytes_limit=bytes_limit)
        assert tighter is not None, "propagation fails although a schedule is known"
        low = length_bound(tighter, lengths, clique, iis)
    bound, limit = low, low
    while low < top:
        meter = Meter(max(limits.length // 3, 1))
        state = search.root(interval, bytes_limit=bytes_limit, length_limit=limit)
        try:
            shorter = search.solve(state, meter) if state is not None else None
            if shorter is not None:
                best, top = shorter, _length(shorter, lengths)
            elif bound == low:
                bound = low = limit + 1
            else:
                low = limit + 1
        except WorkSpent:
            low = limit + 1
        spent += meter.spent
        if spent >= limits.length:
            break
        limit = (low + top - 1) // 2
    return best, top, min(bound, top), spent


def length_bound(state: State, lengths: Sequence[int], clique: tuple[int, ...], iis: tuple[int, ...]) -> int:
    """A bound of the length: the longest path with its last latency, or a clique one after the other with head and tail.

    Tasks that exclude each other modulo II do so in absolute time too, so one iteration passes through all of them.
    """
    tasks = len(lengths)
    ends = state.paths[:tasks, :tasks] + lengths
    bound = max(int(ends.max()), max(lengths))
    if len(clique) < 2:
        return bound
    heads = state.paths[:tasks, :tasks].max(axis=0)
    tails = ends.max(axis=1)
    through = sum(iis[t] for t in clique)
    serial = min(
        int(heads[first]) + through - iis[last] + int(tails[last])
        for first in clique
        for last in clique
        if first != last
    )
    return max(bound, serial)


def _length(plan: SearchSolution, lengths: Sequence[int]) -> int:
    ends = max(start + length for start, length in zip(plan.starts, lengths, strict=True))
    return ends - min(plan.starts)
