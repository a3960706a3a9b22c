"""Times of a finished schedule by plain arithmetic: the interval and length that its order, depths and widths allow.

A loop's schedule is an event graph: in-order streams, hand-offs, refills, each edge with a time and a distance in
iterations. The least interval is its maximum ratio of time to distance; the length follows by longest path. This is the
independent half of a certificate: no engine is involved, and it must give the search's interval again.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from warpwright.solver.device.limits import WARP_THREADS
from warpwright.solver.device.stream_steps import Crew
from warpwright.solver.domain.kernel import ROOT, ScopeKind
from warpwright.solver.warp.floors import Floor, closing_roles, crew_in, floor_of
from warpwright.solver.warp.layout.instruction_order import orderings
from warpwright.solver.warp.problem import WarpProblem
from warpwright.solver.warp.schedule_reader import PipelineSpan, Reading, ReadInstruction

__all__ = [
    "LoopTime",
    "TimingEdge",
    "floor_of_reading",
    "inner_first",
    "iteration_limit",
    "least_interval",
    "longest_path",
    "loop_times",
    "loops_by_weight",
]

Node = tuple[str, int]
RELEASES = 1_000_000
"""Places from here on are releases by a role's last stream; a body has fewer entries."""


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
    """Loop scopes, the one with most cycles of its own first, the others innermost first: the order in which intervals are
    minimised. The first one is what a certificate is about.

    Cycles of its own are those of all its iterations without the loops in it: a scalar loop inside a matrix product's loop
    runs most often, and takes least.
    """
    inner = inner_first(problem)
    return tuple(sorted(inner, key=lambda scope: scope != max(inner, key=lambda each: _own_cycles(problem, each))))


def inner_first(problem: WarpProblem) -> tuple[str, ...]:
    """Loop scopes, innermost first, among equals the busiest first: the order in which intervals can be computed."""
    loops = [scope.id for scope in problem.graph.scopes if scope.kind is not ScopeKind.ROOT and scope.items]
    return tuple(sorted(loops, key=lambda scope: (-len(problem.source.path_to(scope)), -_own_cycles(problem, scope))))


def _own_cycles(problem: WarpProblem, scope: str) -> float:
    """Cycles of a loop's own operations in all its iterations, as one role of the author's width would run them: those of a
    stream, or of the queue of loads or products if that is longer.
    """
    times, stream, queues = problem.times, 0.0, dict[str, float]()
    crew = times.crew(problem.graph.ops, max(problem.graph.threads // WARP_THREADS, 1))
    for item in problem.scopes[scope].items:
        if item in problem.ops:
            op = problem.ops[item]
            stream += times.mixed(*times.held(op, crew))
            queue, cycles = times.queue(op, crew)
            queues[queue] = queues.get(queue, 0.0) + (cycles if queue else 0.0)
    return problem.trips.total(scope) * max(stream, *queues.values(), 0.0)


def loop_times(reading: Reading) -> tuple[LoopTime, ...]:
    """Interval and length of every loop of a legal schedule, in the order of :func:`loops_by_weight`."""
    known: dict[str, LoopTime] = {}
    graph = _LoopGraph(reading, known)
    for scope in inner_first(reading.problem):
        edges, ends = graph.edges(scope)
        interval = least_interval(edges, floor_of_reading(reading, scope, graph.crews).cycles)
        known[scope] = LoopTime(scope, interval, longest_path(edges, interval, ends))
    return tuple(known[scope] for scope in loops_by_weight(reading.problem))


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


def floor_of_reading(reading: Reading, scope: str, crews: Mapping[str, Crew]) -> Floor:
    """The least interval of a schedule's loop by units, queues and streams."""
    closings = {role: _closings(reading, scope, role) for role in closing_roles(reading.problem.times, reading)}
    return floor_of(reading.problem, reading, scope, crews, closings)


def _closings(reading: Reading, scope: str, role: str) -> tuple[int, int]:
    """Releases and fences of a role in one iteration, of the pipeline that has most of them."""
    held = [span.pipeline for span in reading.spans(scope, role) if not span.producing]
    fenced = [name for name in held if _fenced(reading, name, role)]
    return max((held.count(name) for name in held), default=0), max((held.count(name) for name in fenced), default=0)


def _fenced(reading: Reading, pipeline: str, consumer: str) -> bool:
    producers = [
        role
        for role in reading.roles
        for span in reading.spans(reading.scope_of[pipeline], role)
        if span.pipeline == pipeline and span.producing
    ]
    return any(reading.fences_release(pipeline, producer, consumer) for producer in producers[:1])


class _LoopGraph:
    """Events of a schedule's loops: every body's entries, and for each span the time when the last stream has released it."""

    def __init__(self, reading: Reading, known: Mapping[str, LoopTime]) -> None:
        self.reading, self.known, self.times = reading, known, reading.problem.times
        self.crews = {
            name: crew_in(self.times, reading, name, max(role.warps, 1)) for name, role in reading.roles.items()
        }

    def edges(self, scope: str) -> tuple[list[TimingEdge], dict[Node, int]]:
        """Edges of one loop, and for each event the time from its start to its end."""
        reading, edges, ends = self.reading, list[TimingEdge](), dict[Node, int]()
        for role in reading.roles:
            entries = reading.entries(scope, role)
            if not entries:
                continue
            spent = [self._hold(role, entry.item) if entry.item else 0 for entry in entries]
            for entry, cycles in zip(entries, spent, strict=True):
                ends[role, entry.position] = cycles
            following = [*entries[1:], entries[0]]
            for n, (entry, after) in enumerate(zip(entries, following, strict=True)):
                around = 1 if n == len(entries) - 1 else 0
                distance = entry.delta - after.delta + around
                edges.append(TimingEdge((role, entry.position), (role, after.position), spent[n], distance))
            edges += self._results(scope, role)
        for pipeline in reading.schedule.pipelines:
            if reading.scope_of.get(pipeline.name) == scope:
                edges += self._ring(scope, pipeline.name, ends)
        return edges, ends

    def _hold(self, role: str, item: str) -> int:
        if item in self.reading.problem.scopes:
            return self._child(item)
        return self.times.hold(self.reading.ops[item], self.crews[role])

    def _finished(self, role: str, item: str) -> int:
        if item in self.reading.problem.scopes:
            return self._child(item)
        return self.times.finished(self.reading.ops[item], self.crews[role])

    def _child(self, item: str) -> int:
        return self.reading.problem.trips.by_scope[item] * self.known[item].interval

    def _results(self, scope: str, role: str) -> list[TimingEdge]:
        reading = self.reading
        at = {entry.item: entry.position for entry in reading.entries(scope, role) if entry.item}
        return [
            TimingEdge(
                (role, at[ordering.first]),
                (role, at[ordering.second]),
                self.times.result(reading.ops[ordering.first], self.crews[role]),
                ordering.distance,
            )
            for ordering in orderings(reading.problem, reading, scope, role)
            if ordering.waits_for_result and ordering.first in at and ordering.second in at
        ]

    def _ring(self, scope: str, pipeline: str, ends: dict[Node, int]) -> list[TimingEdge]:
        """Full barrier to wait, release to the next acquire of the same version."""
        reading, found = self.reading, list[TimingEdge]()
        latency = reading.problem.device.barrier_latency_cycles
        held = [
            (role, span) for role in reading.roles for span in reading.spans(scope, role) if span.pipeline == pipeline
        ]
        filling, using = ([(role, span) for role, span in held if span.producing is side] for side in (True, False))
        depth = reading.pipelines[pipeline].depth
        for n, ((producer, filled), (consumer, used)) in enumerate(zip(filling, using, strict=True)):
            found += [
                TimingEdge((producer, at), (consumer, used.opened), cycles + latency, 0)
                for at, cycles in self._fills(scope, producer, filled)
            ]
            late = self.times.arrived(self.crews[consumer])
            if reading.fences_release(pipeline, producer, consumer):
                late += reading.problem.device.proxy_fence_cycles
            release = (consumer, RELEASES + used.close)
            found.append(TimingEdge((consumer, used.close), release, late, 0))
            for entry in self._inside(scope, consumer, used):
                cycles = self._finished(consumer, entry.item) + late
                found.append(TimingEdge((consumer, entry.position), release, cycles, 0))
            iterations, again = divmod(n + depth, len(filling))
            refill = (producer, filling[again][1].opened)
            found.append(TimingEdge(release, refill, latency, iterations))
            ends[release] = 0
        return found

    def _inside(self, scope: str, role: str, span: PipelineSpan) -> list[ReadInstruction]:
        """Items of a span that touch its pipeline's buffers."""
        buffers = set(self.reading.buffers_of(span.pipeline))
        return [
            entry
            for entry in self.reading.entries(scope, role)
            if entry.item and span.opened < entry.position < span.close
            if self.reading.touched(entry.item, role) & buffers
        ]

    def _fills(self, scope: str, role: str, span: PipelineSpan) -> list[tuple[int, int]]:
        """Places and cycles from there until a span's buffers are full: loads go one at a time, in the order of their issue."""
        found, loads = list[tuple[int, int]](), list[tuple[int, ReadInstruction]]()
        inside = {entry.position for entry in self._inside(scope, role, span)}
        for entry in self.reading.entries(scope, role):
            op = self.reading.ops.get(entry.item)
            queued = 0 if op is None else self.times.queued(op, self.crews[role])
            if entry.position in inside:
                cycles = self._finished(role, entry.item)
                found.append((entry.position, cycles))
                for _, other in loads if queued else ():
                    if other.delta == entry.delta:
                        found.append(
                            (other.position, cycles + sum(n for n, e in loads if e.position >= other.position))
                        )
            if queued:
                loads.append((queued, entry))
        return found
