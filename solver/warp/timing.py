"""Times of a finished schedule by plain arithmetic: the interval and length that its order, depths and widths allow.

A loop's schedule is an event graph: in-order streams, hand-offs, refills, each edge with a time and a distance in
iterations. The least interval is its maximum ratio of time to distance; the length follows by longest path. This is the
independent half of a certificate: no engine is involved, and it must give the search's interval again.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from warpwright.solver.device.cycles import (
    arrival_cycles,
    nominal_trips,
    release_cycles,
    skew_cycles,
    stream_cycles,
    unit_cycles,
)
from warpwright.solver.domain.kernel import ROOT, ScopeKind, Unit
from warpwright.solver.warp.layout.instruction_order import orderings
from warpwright.solver.warp.problem import WarpProblem
from warpwright.solver.warp.schedule_reader import Reading

__all__ = [
    "LoopTime",
    "TimingEdge",
    "iteration_limit",
    "least_interval",
    "longest_path",
    "loop_times",
    "loops_by_weight",
]

Node = tuple[str, int]


@dataclass(frozen=True, slots=True)
class TimingEdge:
    """``target`` of iteration i + distance starts at least ``cycles`` after ``source`` of iteration i."""

    source: Node
    target: Node
    cycles: int
    distance: int


@dataclass(frozen=True, slots=True)
class LoopTime:
    """Interval and length of one loop, in cycles."""

    scope: str
    interval: int
    length: int


def iteration_limit(problem: WarpProblem, scope: str) -> int | None:
    """How often a scope's body runs in total; None if only the launch knows; 1 for the root."""
    total = 1
    current: str | None = scope
    while current is not None and current != ROOT:
        trips = problem.scopes[current].trips
        if trips is None:
            return None
        total *= trips
        current = problem.scopes[current].parent
    return max(total, 1)


def loops_by_weight(problem: WarpProblem) -> tuple[str, ...]:
    """Loop scopes, innermost first, among equals the busiest first: the order in which intervals are minimised."""

    def weight(scope_id: str) -> tuple[int, int]:
        scope = problem.scopes[scope_id]
        inside = [problem.ops[item] for item in scope.items if item in problem.ops]
        busy = nominal_trips(scope) * sum(use.cycles for op in inside for use in op.uses)
        return (-len(problem.source.path_to(scope_id)), -busy)

    loops = [scope.id for scope in problem.graph.scopes if scope.kind is not ScopeKind.ROOT and scope.items]
    return tuple(sorted(loops, key=weight))


def loop_times(reading: Reading) -> tuple[LoopTime, ...]:
    """Interval and length of every loop of a legal schedule, in the order of :func:`loops_by_weight`."""
    known: dict[str, LoopTime] = {}
    for scope in loops_by_weight(reading.problem):
        edges, ends = _event_graph(reading, scope, known)
        busy = max((unit_cycles(reading.problem.source, scope, unit) for unit in Unit), default=1)
        interval = least_interval(edges, max(busy, 1))
        length = longest_path(edges, interval, ends)
        known[scope] = LoopTime(scope, interval, length)
    return tuple(known.values())


def least_interval(edges: Iterable[TimingEdge], at_least: int) -> int:
    """The smallest whole interval, not below ``at_least``, for which no cycle of edges takes longer than its distance.

    Raises:
        ValueError: a cycle of distance 0 takes time, so no interval is long enough.
    """
    fixed = list(edges)
    high = at_least + sum(max(edge.cycles, 0) for edge in fixed)
    if find_cycle(fixed, high):
        raise ValueError("a cycle of the event graph spans no iteration")
    low = at_least
    while low < high:
        middle = (low + high) // 2
        if find_cycle(fixed, middle):
            low = middle + 1
        else:
            high = middle
    return low


def find_cycle(edges: list[TimingEdge], interval: int) -> tuple[TimingEdge, ...]:
    """A cycle that takes longer than its distance allows at this interval, or nothing."""
    times: dict[Node, int] = {node: 0 for edge in edges for node in (edge.source, edge.target)}
    via: dict[Node, TimingEdge] = {}
    changed: Node | None = None
    for _ in range(len(times) + 1):
        changed = None
        for edge in edges:
            earliest = times[edge.source] + edge.cycles - edge.distance * interval
            if earliest > times[edge.target]:
                times[edge.target], via[edge.target], changed = earliest, edge, edge.target
        if changed is None:
            return ()
    assert changed is not None
    for _ in range(len(times)):
        changed = via[changed].source
    cycle, node = [via[changed]], via[changed].source
    while node != changed:
        cycle.append(via[node])
        node = via[node].source
    return tuple(reversed(cycle))


def longest_path(edges: Iterable[TimingEdge], interval: int, ends: dict[Node, int]) -> int:
    """The least time from the first start to the last end of one iteration's events at this interval."""
    fixed = list(edges)
    times = dict.fromkeys([*ends, *(node for edge in fixed for node in (edge.source, edge.target))], 0)
    for _ in range(len(times)):
        changed = False
        for edge in fixed:
            earliest = times[edge.source] + edge.cycles - edge.distance * interval
            if earliest > times[edge.target]:
                times[edge.target], changed = earliest, True
        if not changed:
            break
    return max((times[node] + end for node, end in ends.items()), default=0)


def _event_graph(reading: Reading, scope: str, known: dict[str, LoopTime]) -> tuple[list[TimingEdge], dict[Node, int]]:
    """Edges of one loop, and for each event the time from its start to its end."""
    edges: list[TimingEdge] = []
    ends: dict[Node, int] = {}
    for role in reading.roles:
        entries = reading.entries(scope, role)
        if not entries:
            continue
        spent = [_stream(reading, role, entry.item, known) if entry.item else 0 for entry in entries]
        for entry, cycles in zip(entries, spent, strict=True):
            ends[role, entry.position] = cycles
        following = [*entries[1:], entries[0]]
        for n, (entry, after) in enumerate(zip(entries, following, strict=True)):
            around = 1 if n == len(entries) - 1 else 0
            distance = entry.delta - after.delta + around
            edges.append(TimingEdge((role, entry.position), (role, after.position), spent[n], distance))
        edges += _result_edges(reading, scope, role)
    for pipeline in reading.schedule.pipelines:
        if reading.scope_of.get(pipeline.name) == scope:
            edges += _ring_edges(reading, scope, pipeline.name, known, ends)
    return edges, ends


def _stream(reading: Reading, role: str, item: str, known: dict[str, LoopTime]) -> int:
    if item in reading.problem.scopes:
        return _child(reading, item, known)
    return stream_cycles(reading.ops[item], reading.roles[role].warps)


def _child(reading: Reading, item: str, known: dict[str, LoopTime]) -> int:
    return nominal_trips(reading.problem.scopes[item]) * known[item].interval


def _skew(reading: Reading, scope: str, role: str) -> int:
    ops = tuple(reading.ops[item] for item in reading.body(scope, role) if item in reading.problem.ops)
    return skew_cycles(ops, reading.roles[role].warps)


def _result_edges(reading: Reading, scope: str, role: str) -> list[TimingEdge]:
    percent = reading.problem.device.load_latency_percent
    at = {entry.item: entry.position for entry in reading.entries(scope, role) if entry.item}
    return [
        TimingEdge(
            (role, at[ordering.first]),
            (role, at[ordering.second]),
            arrival_cycles(reading.ops[ordering.first], reading.roles[role].warps, percent),
            ordering.distance,
        )
        for ordering in orderings(reading.problem, reading, scope, role)
        if ordering.waits_for_result and ordering.first in at and ordering.second in at
    ]


def _ring_edges(
    reading: Reading, scope: str, pipeline: str, known: dict[str, LoopTime], ends: dict[Node, int]
) -> list[TimingEdge]:
    """Full barrier to wait, release to the next acquire of the same version."""
    latency, found = reading.problem.device.barrier_latency_cycles, []
    percent = reading.problem.device.load_latency_percent
    held = [(role, span) for role in reading.roles for span in reading.spans(scope, role) if span.pipeline == pipeline]
    filling, using = ([(role, span) for role, span in held if span.producing is side] for side in (True, False))
    buffers, depth = set(reading.buffers_of(pipeline)), reading.pipelines[pipeline].depth
    for n, ((producer, filled), (consumer, used)) in enumerate(zip(filling, using, strict=True)):
        filled_late, freed_late = _skew(reading, scope, producer), _skew(reading, scope, consumer)
        for entry in reading.entries(scope, producer):
            if entry.item and filled.opened < entry.position < filled.close:
                if not reading.touched(entry.item, producer) & buffers:
                    continue
                op = reading.ops.get(entry.item)
                warps = reading.roles[producer].warps
                late = _child(reading, entry.item, known) if op is None else arrival_cycles(op, warps, percent)
                wait = (consumer, used.opened)
                found.append(TimingEdge((producer, entry.position), wait, late + filled_late + latency, 0))
        if reading.fences_release(pipeline, producer, consumer):
            freed_late += reading.problem.device.proxy_fence_cycles
        release = (consumer, used.close)
        iterations, again = divmod(n + depth, len(filling))
        refill = (producer, filling[again][1].opened)
        found.append(TimingEdge(release, refill, freed_late + latency, iterations))
        ends[release] = freed_late
        for entry in reading.entries(scope, consumer):
            op = reading.ops.get(entry.item)
            if op is None or not op.arrives_itself or not used.opened < entry.position < used.close:
                continue
            if reading.touched(entry.item, consumer) & buffers:
                start, spent = (consumer, entry.position), release_cycles(op, reading.roles[consumer].warps)
                found.append(TimingEdge(start, refill, spent + freed_late + latency, iterations))
                ends[start] = max(ends.get(start, 0), spent + freed_late)
    return found
