"""Lower bounds of the interval, computed before any search and named by their reason.

Reasons of a loop's floor: see :mod:`warpwright.solver.warp.floors`. ``ring:<buffer>``: a version's life from refill to release,
divided by the most versions that memory can hold. ``recurrence:<a>-><b>``: the critical cycle of the event graph, by minimum
ratio, if it is not one of the others. Every bound holds for every legal schedule of the problem, so a schedule that meets one
is optimal.
"""

from warpwright.solver.device.limits import WARPGROUP, WARPGROUP_THREADS
from warpwright.solver.device.shared_memory import area_bytes, shared_buffers
from warpwright.solver.device.stream_steps import Crew
from warpwright.solver.domain.verdict import Bound
from warpwright.solver.warp.encoding import default_warps, fewest_closings, largest_depth, legal_stages
from warpwright.solver.warp.families.warp_ranges import width_conflict
from warpwright.solver.warp.floors import crew_in, floor_of, units_of
from warpwright.solver.warp.layout.buffer_channels import Channel
from warpwright.solver.warp.layout.instruction_order import orderings
from warpwright.solver.warp.layout.structure import PlacedKernel, release_is_fenced, structure_of
from warpwright.solver.warp.problem import CONSUMER, WarpProblem
from warpwright.solver.warp.registers import widest_refusal
from warpwright.solver.warp.timing import (
    RELEASES,
    Node,
    TimingEdge,
    find_cycle,
    inner_first,
    least_interval,
    loops_by_weight,
)

__all__ = ["lower_bounds", "unit_bounds"]

ONE_CYCLE = Bound(1, "time:one cycle")


def lower_bounds(problem: WarpProblem, consumer_warpgroups: int | None = None) -> dict[str, tuple[Bound, ...]]:
    """Bounds of every loop's interval, the largest first, in the order of :func:`loops_by_weight`.

    Args:
        problem: The closed problem.
        consumer_warpgroups: Bounds of the schedules of this width only; of every legal width if None.
    """
    structure = structure_of(problem)
    widths = legal_widths(problem, structure) if consumer_warpgroups is None else (consumer_warpgroups,)
    found: dict[str, tuple[Bound, ...]] = {}
    for scope in inner_first(problem):
        by_width = [_bounds(problem, structure, scope, groups, found) for groups in widths]
        # The search may choose any legal width, so a bound must hold for the best of them.
        best = min(by_width, key=lambda bounds: bounds[0].cycles)
        found[scope] = tuple(sorted(best, key=lambda bound: -bound.cycles))
    return {scope: found[scope] for scope in loops_by_weight(problem)}


def unit_bounds(problem: WarpProblem, scope: str) -> tuple[Bound, ...]:
    """Cycles for which an iteration keeps each unit busy at the best width: they bound every schedule."""
    structure, least = structure_of(problem), dict[str, float]()
    for number, groups in enumerate(legal_widths(problem, structure)):
        busy = units_of(problem, structure, scope, _crews(problem, structure, groups))
        least = busy if number == 0 else {unit: min(busy.get(unit, 0.0), n) for unit, n in least.items()}
    return tuple(Bound(int(cycles), f"resource:{unit}") for unit, cycles in least.items() if cycles >= 1) or (
        ONE_CYCLE,
    )


def legal_widths(problem: WarpProblem, structure: PlacedKernel) -> tuple[int, ...]:
    """Consumer widths in warpgroups that the kernel's tiles and registers allow; all widths if there is none."""
    pinned = problem.pins.consumer_warpgroups
    most = max(problem.device.block_threads // WARPGROUP_THREADS, pinned or 1)
    ops = tuple(problem.ops[op_id] for op_id, roles in structure.placement.items() if CONSUMER in roles)
    widths = tuple(range(1, most + 1)) if pinned is None else (pinned,)
    if "warp_ranges" in problem.relaxed:
        return widths
    legal = [
        n for n in widths if not width_conflict(problem, ops, WARPGROUP * n) and not widest_refusal(problem, ops, n)
    ]
    return tuple(legal) or widths


def _warps(problem: WarpProblem, structure: PlacedKernel, role: str, groups: int) -> int:
    return WARPGROUP * groups if role == CONSUMER else default_warps(problem, structure, role)


def _crews(problem: WarpProblem, structure: PlacedKernel, groups: int) -> dict[str, Crew]:
    return {
        role: crew_in(problem.times, structure, role, _warps(problem, structure, role, groups))
        for role in structure.roles
    }


def _bounds(
    problem: WarpProblem, structure: PlacedKernel, scope: str, groups: int, inner: dict[str, tuple[Bound, ...]]
) -> tuple[Bound, ...]:
    graph = _Graph(problem, structure, scope, _crews(problem, structure, groups), inner)
    floor = floor_of(problem, structure, scope, graph.crews, fewest_closings(problem, structure, scope))
    bounds = [*unit_bounds(problem, scope), *(bound for bound in floor.bounds if bound != ONE_CYCLE)]
    edges = graph.edges()
    highest = max(bound.cycles for bound in bounds)
    ratio = least_interval(edges, 1)
    if ratio > highest:
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
        crews: dict[str, Crew],
        inner: dict[str, tuple[Bound, ...]],
    ) -> None:
        self.problem, self.structure, self.scope, self.crews, self.inner = problem, structure, scope, crews, inner

    def hold(self, role: str, item: str) -> int:
        """The least number of cycles for which an item holds the stream."""
        if item in self.problem.scopes:
            return self._child(item)
        return self.problem.times.hold(self.structure.ops[item], self.crews[role])

    def finished(self, role: str, item: str) -> int:
        """The least number of cycles from an item's start to its end in every stream."""
        if item in self.problem.scopes:
            return self._child(item)
        return self.problem.times.finished(self.structure.ops[item], self.crews[role])

    def _child(self, item: str) -> int:
        return self.problem.trips.by_scope[item] * self.inner[item][0].cycles

    def edges(self) -> list[TimingEdge]:
        """Edges that every legal schedule has."""
        found: list[TimingEdge] = []
        for role in self.structure.roles:
            items = self.structure.body(self.scope, role)
            staged = legal_stages(self.problem, self.structure, self.problem.scopes[self.scope], role)
            for ordering in orderings(self.problem, self.structure, self.scope, role):
                first, second = items.index(ordering.first), items.index(ordering.second)
                cycles = self.hold(role, ordering.first)
                if ordering.waits_for_result:
                    op = self.structure.ops[ordering.first]
                    cycles = max(cycles, self.problem.times.result(op, self.crews[role]))
                found.append(TimingEdge((role, first), (role, second), cycles, ordering.distance))
            for n, item in enumerate(items):
                if not staged:
                    last = n == len(items) - 1
                    target = (role, 0 if last else n + 1)
                    found.append(TimingEdge((role, n), target, self.hold(role, item), int(last)))
        for index, channel in enumerate(self.structure.channels):
            if channel.scope == self.scope:
                found += self._ring(index)
        return found

    def _ring(self, index: int) -> list[TimingEdge]:
        channel = self.structure.channels[index]
        writes = self.structure.body(self.scope, channel.producer)
        reads = self.structure.body(self.scope, channel.consumer)
        latency, depth = self.problem.device.barrier_latency_cycles, _most_versions(self.problem, self.structure, index)
        late = self.problem.times.arrived(self.crews[channel.consumer]) + _fence(self.problem, channel)
        found: list[TimingEdge] = []
        for n, value in enumerate(channel.hand_offs):
            release = (channel.consumer, RELEASES + index + n * len(self.structure.channels))
            for write in value.writes:
                full = self.finished(channel.producer, write) + latency
                source = (channel.producer, writes.index(write))
                starts = [(source, full)]
                starts += [((channel.producer, at), full + cycles) for at, cycles in self._loads_before(channel, write)]
                found += [
                    TimingEdge(start, (channel.consumer, reads.index(read)), cycles, 0)
                    for start, cycles in starts
                    for read in value.reads
                ]
            iterations, again = divmod(n + depth, len(channel.hand_offs))
            for write in channel.hand_offs[again].writes:
                found.append(TimingEdge(release, (channel.producer, writes.index(write)), latency, iterations))
            for read in value.reads:
                spent = self.finished(channel.consumer, read) + late
                found.append(TimingEdge((channel.consumer, reads.index(read)), release, spent, 0))
        return found

    def _loads_before(self, channel: Channel, write: str) -> list[tuple[int, int]]:
        """Places of the loads before a load, with the cycles that the queue takes from each of them to it."""
        items, queued = self.structure.body(self.scope, channel.producer), 0
        scope, found = self.problem.scopes[self.scope], list[tuple[int, int]]()
        if not self._queued(channel.producer, write):
            return []
        if legal_stages(self.problem, self.structure, scope, channel.producer):
            return []
        for at in range(items.index(write) - 1, -1, -1):
            cycles = self._queued(channel.producer, items[at])
            queued += cycles
            if cycles:
                found.append((at, queued))
        return found

    def _queued(self, role: str, item: str) -> int:
        if item in self.problem.scopes:
            return 0
        return self.problem.times.queued(self.structure.ops[item], self.crews[role])


def _fence(problem: WarpProblem, channel: Channel) -> int:
    return problem.device.proxy_fence_cycles if release_is_fenced(problem, channel) else 0


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
