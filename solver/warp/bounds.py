"""Lower bounds of the interval, computed before any search and named by their reason.

``resource:<unit>``: one iteration keeps a unit busy this long. ``stream:<role>``: one warpgroup's own program takes this long.
``ring:<buffer>``: a version's life from refill to release, divided by the most versions that memory can hold.
``recurrence:<a>-><b>``: the critical cycle of the event graph, by minimum ratio, if it is not one of the others. Every
bound holds for every legal schedule of the problem, so a schedule that meets one is optimal.
"""

from warpwright.solver.device.cycles import (
    arrival_cycles,
    nominal_trips,
    release_cycles,
    skew_cycles,
    stream_cycles,
    unit_cycles,
)
from warpwright.solver.device.limits import WARPGROUP, WARPGROUP_THREADS
from warpwright.solver.device.shared_memory import area_bytes, shared_buffers
from warpwright.solver.domain.kernel import Unit
from warpwright.solver.domain.verdict import Bound
from warpwright.solver.warp.encoding import default_warps, largest_depth, legal_stages
from warpwright.solver.warp.families.warp_ranges import width_conflict
from warpwright.solver.warp.layout.instruction_order import orderings
from warpwright.solver.warp.layout.structure import PlacedKernel, structure_of
from warpwright.solver.warp.problem import CONSUMER, WarpProblem
from warpwright.solver.warp.timing import Node, TimingEdge, find_cycle, least_interval, loops_by_weight

__all__ = ["lower_bounds", "unit_bounds"]

ONE_CYCLE = Bound(1, "time:one cycle")

RELEASES = 1_000_000
"""Indices from here on are releases of channels; a body has fewer items."""


def lower_bounds(problem: WarpProblem, consumer_warpgroups: int | None = None) -> dict[str, tuple[Bound, ...]]:
    """Bounds of every loop's interval, the largest first; innermost loops come first, as in :func:`loops_by_weight`.

    Args:
        problem: The closed problem.
        consumer_warpgroups: Bounds of the schedules of this width only; of every legal width if None.
    """
    structure = structure_of(problem)
    widths = legal_widths(problem, structure) if consumer_warpgroups is None else (consumer_warpgroups,)
    found: dict[str, tuple[Bound, ...]] = {}
    for scope in loops_by_weight(problem):
        by_width = [_bounds(problem, structure, scope, groups, found) for groups in widths]
        # The search may choose any legal width, so a bound must hold for the best of them.
        best = min(by_width, key=lambda bounds: bounds[0].cycles)
        found[scope] = tuple(sorted(best, key=lambda bound: -bound.cycles))
    return found


def unit_bounds(problem: WarpProblem, scope: str) -> tuple[Bound, ...]:
    """Cycles for which an iteration keeps each unit busy: they follow from the kernel, so they bound every schedule."""
    busy = {unit: unit_cycles(problem.source, scope, unit) for unit in Unit}
    return tuple(Bound(cycles, f"resource:{unit.value}") for unit, cycles in busy.items() if cycles > 0) or (ONE_CYCLE,)


def legal_widths(problem: WarpProblem, structure: PlacedKernel) -> tuple[int, ...]:
    """Consumer widths in warpgroups that the kernel's tiles allow; all widths if there is none."""
    pinned = problem.pins.consumer_warpgroups
    most = max(problem.device.block_threads // WARPGROUP_THREADS, pinned or 1)
    ops = tuple(problem.ops[op_id] for op_id, roles in structure.placement.items() if CONSUMER in roles)
    widths = tuple(range(1, most + 1)) if pinned is None else (pinned,)
    if "warp_ranges" in problem.relaxed:
        return widths
    return tuple(n for n in widths if not width_conflict(problem, ops, WARPGROUP * n)) or widths


def _bounds(
    problem: WarpProblem, structure: PlacedKernel, scope: str, groups: int, inner: dict[str, tuple[Bound, ...]]
) -> tuple[Bound, ...]:
    bounds = list(unit_bounds(problem, scope))
    graph = _Graph(problem, structure, scope, groups, inner)
    for role in structure.roles:
        spent = sum(graph.stream(role, item) for item in structure.body(scope, role))
        if spent:
            bounds.append(Bound(spent, f"stream:{role}"))
    edges = graph.edges()
    highest = max((bound.cycles for bound in bounds), default=1)
    ratio = least_interval(edges, 1)
    if ratio > highest and ratio > 1:
        bounds.append(Bound(ratio, _name(structure, scope, find_cycle(edges, ratio - 1))))
    return tuple(sorted(bounds, key=lambda bound: -bound.cycles))


def _name(structure: PlacedKernel, scope: str, cycle: tuple[TimingEdge, ...]) -> str:
    items = list(dict.fromkeys(_item(structure, scope, edge.source) for edge in cycle))
    buffers = [item.removeprefix("release ") for item in items if item.startswith("release ")]
    if len(buffers) == 1:
        return f"ring:{buffers[0]}"
    return "recurrence:" + "->".join(item for item in items if not item.startswith("release "))


def _item(structure: PlacedKernel, scope: str, node: Node) -> str:
    role, place = node
    items = structure.body(scope, role)
    if place < len(items):
        return items[place]
    return f"release {structure.channels[(place - RELEASES) % len(structure.channels)].buffer}"


class _Graph:
    """The least constrained event graph of a loop: most versions each, no merging, no order if stages are free."""

    def __init__(
        self,
        problem: WarpProblem,
        structure: PlacedKernel,
        scope: str,
        groups: int,
        inner: dict[str, tuple[Bound, ...]],
    ) -> None:
        self.problem, self.structure, self.scope, self.inner = problem, structure, scope, inner
        self.warps = {
            role: WARPGROUP * groups if role == CONSUMER else default_warps(problem, structure, role)
            for role in structure.roles
        }

    def stream(self, role: str, item: str) -> int:
        """The least number of cycles for which an item holds the stream."""
        if item in self.problem.scopes:
            return nominal_trips(self.problem.scopes[item]) * self.inner[item][0].cycles
        return stream_cycles(self.structure.ops[item], self.warps[role])

    def arrival(self, role: str, item: str) -> int:
        """The least number of cycles from an item's start to its result."""
        if item in self.problem.scopes:
            return self.stream(role, item)
        return arrival_cycles(self.structure.ops[item], self.warps[role], self.problem.device.load_latency_percent)

    def release(self, role: str, item: str) -> int:
        """The least number of cycles from an item's start until what it reads may be refilled."""
        if item in self.problem.scopes:
            return self.stream(role, item)
        return release_cycles(self.structure.ops[item], self.warps[role])

    def skew(self, role: str) -> int:
        """How far the role's last warpgroup trails."""
        items = self.structure.body(self.scope, role)
        return skew_cycles(tuple(self.structure.ops[x] for x in items if x in self.problem.ops), self.warps[role])

    def edges(self) -> list[TimingEdge]:
        """Edges that every legal schedule has."""
        found: list[TimingEdge] = []
        for role in self.structure.roles:
            items = self.structure.body(self.scope, role)
            staged = legal_stages(self.problem, self.structure, self.problem.scopes[self.scope], role)
            for ordering in orderings(self.problem, self.structure, self.scope, role):
                first, second = items.index(ordering.first), items.index(ordering.second)
                cycles = self.arrival(role, ordering.first) if ordering.waits_for_result else 0
                cycles = max(cycles, self.stream(role, ordering.first))
                found.append(TimingEdge((role, first), (role, second), cycles, ordering.distance))
            for n, item in enumerate(items):
                if not staged:
                    last = n == len(items) - 1
                    target = (role, 0 if last else n + 1)
                    found.append(TimingEdge((role, n), target, self.stream(role, item), int(last)))
        for index, channel in enumerate(self.structure.channels):
            if channel.scope == self.scope:
                found += self._ring(index)
        return found

    def _ring(self, index: int) -> list[TimingEdge]:
        channel = self.structure.channels[index]
        writes = self.structure.body(self.scope, channel.producer)
        reads = self.structure.body(self.scope, channel.consumer)
        latency, depth = self.problem.device.barrier_latency_cycles, _most_versions(self.problem, self.structure, index)
        found: list[TimingEdge] = []
        for n, value in enumerate(channel.hand_offs):
            release = (channel.consumer, RELEASES + index + n * len(self.structure.channels))
            for write in value.writes:
                late = self.arrival(channel.producer, write) + self.skew(channel.producer) + latency
                source = (channel.producer, writes.index(write))
                found += [TimingEdge(source, (channel.consumer, reads.index(read)), late, 0) for read in value.reads]
            iterations, again = divmod(n + depth, len(channel.hand_offs))
            for write in channel.hand_offs[again].writes:
                found.append(TimingEdge(release, (channel.producer, writes.index(write)), latency, iterations))
            for read in value.reads:
                spent = self.release(channel.consumer, read) + self.skew(channel.consumer)
                found.append(TimingEdge((channel.consumer, reads.index(read)), release, spent, 0))
        return found


def _most_versions(problem: WarpProblem, structure: PlacedKernel, index: int) -> int:
    """Most legal versions of a channel: bounded by the search's limit, its pin, and memory with one version of all others."""
    channel = structure.channels[index]
    pinned = [pin.depth for pin in problem.pins.depths if pin.buffer == channel.buffer and not channel.encloses]
    most = largest_depth(problem, structure, index)
    if pinned:
        return max(1, *pinned)
    if channel.carried and "pipeline_depth" not in problem.relaxed:
        return 1
    sizes = {buffer.name: buffer.bytes for buffer in shared_buffers(problem.graph)}
    if channel.buffer not in sizes or "shared_memory" in problem.relaxed:
        return most
    others = sum(area_bytes(problem.graph, size) for name, size in sizes.items() if name != channel.buffer)
    room = problem.device.shared_bytes_per_block - others
    return max(1, min(most, room // max(sizes[channel.buffer], 1)))
