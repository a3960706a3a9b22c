"""The variables of one warp problem and their meaning; families write their rules over them.

A start time is that of iteration 0 of the item's scope, in cycles; iteration i starts ``i * interval`` later. The interval
is a variable. If it is multiplied (by a depth, by a stage), there is one guarded linear constraint for each value.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from warpwright.solver.device.limits import LARGEST_DEPTH, WARPGROUP, WARPGROUP_THREADS
from warpwright.solver.device.registers import works_with_threads
from warpwright.solver.device.stream_steps import Crew
from warpwright.solver.device.stream_times import StreamTimes
from warpwright.solver.domain.kernel import ROOT, Memory, Op, Scope, ScopeKind
from warpwright.solver.engines.model import Expr, Literal, Model, Var, linear
from warpwright.solver.warp.floors import closing_roles, crew_in, floor_of
from warpwright.solver.warp.layout.buffer_channels import Channel, HandOff, together
from warpwright.solver.warp.layout.instruction_order import free_after
from warpwright.solver.warp.layout.structure import PlacedKernel, release_is_fenced, structure_of
from warpwright.solver.warp.problem import CONSUMER, LOAD, MMA, WarpProblem
from warpwright.solver.warp.settled import MOST_STEPS
from warpwright.solver.warp.timing import loops_by_weight

__all__ = [
    "Key",
    "WarpEncoding",
    "declare",
    "default_warps",
    "fewest_closings",
    "largest_depth",
    "legal_stages",
]

LARGEST_STAGE = 1
"""Largest stage offset that the search may use inside one role's body; a pin may be larger."""

Key = tuple[str, str, str]
"""Scope, role and item: one entry of one role's body."""


@dataclass
class WarpEncoding:
    """Variables of a problem, by what they decide. Lists run parallel to ``structure.channels``."""

    problem: WarpProblem
    structure: PlacedKernel
    model: Model
    no_reallocation: Literal
    loops: tuple[Scope, ...] = ()
    """Loop scopes in the order in which their intervals are minimised."""
    width: dict[int, Literal] = field(default_factory=dict)
    """Consumer warpgroups."""
    groups: dict[int, Literal] = field(default_factory=dict)
    """Warpgroups of the block."""
    first_warp: dict[str, Var] = field(default_factory=dict)
    warps: dict[str, Var] = field(default_factory=dict)
    registers: dict[str, Var] = field(default_factory=dict)
    place: dict[tuple[str, str], Literal] = field(default_factory=dict)
    depth: list[Var] = field(default_factory=list)
    depth_is: list[dict[int, Literal]] = field(default_factory=list)
    versions_is: dict[str, dict[int, Literal]] = field(default_factory=dict)
    """Versions of a buffer that changes hands: its depth, or the product of the depths of nested pipelines."""
    merged: dict[tuple[int, int], Literal] = field(default_factory=dict)
    apart: list[tuple[int, int]] = field(default_factory=list)
    """Channels between the same roles in the same scope, with equally many values, that no pipeline can hand over together."""
    leads: list[Literal] = field(default_factory=list)
    """Whether a channel is the first one of its pipeline."""
    interval: dict[str, Var] = field(default_factory=dict)
    length: dict[str, Var] = field(default_factory=dict)
    late: dict[str, Var] = field(default_factory=dict)
    """By how many steps the settled rings of a loop are above its floor (:mod:`warpwright.solver.warp.settled`)."""
    start: dict[Key, Var] = field(default_factory=dict)
    phase: dict[Key, Var] = field(default_factory=dict)
    stage_is: dict[Key, dict[int, Literal]] = field(default_factory=dict)
    before: dict[tuple[str, str, str, str], Literal] = field(default_factory=dict)
    """Scope, role and two items in source order: whether the first one also runs first in its role's body."""
    full: dict[tuple[int, int], Var] = field(default_factory=dict)
    """When a value is available, by channel of a loop and hand-off of an iteration."""
    release: dict[tuple[int, int], Var] = field(default_factory=dict)

    def hold(self, role: str, item: str) -> Expr:
        """Cycles for which an item holds its role's stream, as an expression of width and child intervals."""
        if item in self.problem.scopes:
            return self.child_cycles(item)
        op = self.structure.ops[item]
        return self.by_width(role, lambda warps: self.problem.times.hold(op, self.crew(role, warps)))

    def result(self, role: str, item: str) -> Expr:
        """Cycles from an operation's start to its result being usable by the stream that started it."""
        op = self.structure.ops[item]
        return self.by_width(role, lambda warps: self.problem.times.result(op, self.crew(role, warps)))

    def finished(self, role: str, item: str) -> Expr:
        """Cycles from an item's start to its end in every stream of its role."""
        if item in self.problem.scopes:
            return self.child_cycles(item)
        op = self.structure.ops[item]
        return self.by_width(role, lambda warps: self.problem.times.finished(op, self.crew(role, warps)))

    def arrived(self, role: str) -> Expr:
        """Cycles from a role's first arrival on a barrier to its last one."""
        return self.by_width(role, lambda warps: self.problem.times.arrived(self.crew(role, warps)))

    def queued(self, role: str, item: str) -> int:
        """Cycles for which a bulk load keeps the queue of loads; 0 for everything else."""
        if item in self.problem.scopes:
            return 0
        warps = default_warps(self.problem, self.structure, role)
        return self.problem.times.queued(self.structure.ops[item], self.crew(role, warps))

    def crew(self, role: str, warps: int) -> Crew:
        """The role's streams if it has this many warps."""
        return crew_in(self.problem.times, self.structure, role, warps)

    def crews(self, groups: int) -> dict[str, Crew]:
        """Streams of every role at this consumer width."""
        return _crews_at(self.problem, self.structure, groups)

    def child_cycles(self, scope_id: str) -> Expr:
        """Cycles of a whole child loop: its trips times its interval."""
        return linear((self.problem.trips.by_scope[scope_id], self.interval[scope_id]))

    def by_width(self, role: str, cycles: Callable[[int], int]) -> Expr:
        """A number that depends on the role's width: a table over the consumer's warpgroups, a constant elsewhere."""
        if role != CONSUMER:
            return linear(constant=cycles(default_warps(self.problem, self.structure, role)))
        return linear(*((cycles(WARPGROUP * groups), literal.var) for groups, literal in self.width.items()))

    def bodies(self) -> list[tuple[str, str, tuple[str, ...]]]:
        """Every role's body in every loop: scope, role, items in source order."""
        return [
            (scope.id, role, self.structure.body(scope.id, role))
            for scope in self.loops
            for role in self.structure.roles
            if self.structure.body(scope.id, role)
        ]

    def is_staged(self, scope: str, role: str) -> bool:
        """Whether the role's body in this scope may be reordered with stage offsets."""
        return any((scope, role, item) in self.stage_is for item in self.structure.body(scope, role))


def default_warps(problem: WarpProblem, structure: PlacedKernel, role: str) -> int:
    """Warps of a role other than the consumer if no pin decides.

    One elected lane issues TMA and tcgen05 instructions, so one warp is enough, and thread-local scalars (the place of a
    persistent block's scheduler) exist in every thread; copies whose data passes through the threads need a whole warpgroup.
    """
    mine = [structure.ops[op_id] for op_id, roles in structure.placement.items() if role in roles]
    if any(op.gemm is not None and op.gemm.c_memory is Memory.TENSOR for op in mine):
        return 1
    return WARPGROUP if any(works_with_threads(problem.source, op) for op in mine) else 1


def largest_depth(problem: WarpProblem, structure: PlacedKernel, index: int) -> int:
    """Most versions that the search offers for a channel: not more than there are values, but at least the pinned number."""
    channel = structure.channels[index]
    pinned = [pin.depth for pin in problem.pins.depths if pin.buffer == channel.buffer and not channel.encloses]
    iterations: int | None = 1
    current: str | None = channel.scope
    while current is not None and current != ROOT:
        trips = problem.scopes[current].trips
        iterations = None if iterations is None or trips is None else iterations * trips
        current = problem.scopes[current].parent
    most = LARGEST_DEPTH if iterations is None else max(1, min(LARGEST_DEPTH, iterations * len(channel.hand_offs)))
    return max([most, *pinned])


def legal_stages(problem: WarpProblem, structure: PlacedKernel, scope: Scope, role: str) -> int:
    """Largest stage that the search offers in a role's body; 0 leaves the body in source order.

    Offsets only help if something is in flight while the role does other work: a product that it waits for itself, or one of the
    role for tensor memory whose operand it writes and whose result it reads (and that role has several). Otherwise every stage
    is 0 without a pin: with blocking products only, no order of the same stream is shorter than another.
    """
    items = structure.body(scope.id, role)
    pinned = max((pin.stage for pin in problem.pins.stages if pin.op in items), default=0)
    if pinned or scope.kind is ScopeKind.ROOT or not (scope.zero_based or scope.kind is ScopeKind.WHILE):
        return pinned
    if role == LOAD or problem.pins.software_pipelining is False:
        return 0
    products = [op for item in items if (op := problem.ops.get(item)) is not None and op.gemm is not None]
    in_flight = any(op.left_in_flight for op in products) or _waits_for_itself(structure, scope.id, role)
    if role == MMA:
        in_flight = in_flight and len(products) > 1
    return LARGEST_STAGE if in_flight or (problem.pins.software_pipelining and role != MMA) else 0


def _waits_for_itself(structure: PlacedKernel, scope: str, role: str) -> bool:
    """Whether the role of products into tensor memory and another one hand values to each other in both directions."""
    pairs = {(channel.producer, channel.consumer) for channel in structure.channels if channel.scope == scope}
    return any((role, other) in pairs and (other, role) in pairs for other in structure.roles if MMA in (role, other))


def declare(problem: WarpProblem, at_least: Mapping[str, int] | None = None) -> WarpEncoding:
    """Creates the variables of a problem with their definitions, without the families' rules.

    Args:
        problem: The closed problem.
        at_least: Proven lower bounds of the loops' intervals, by scope.
    """
    structure, model = structure_of(problem), Model()
    enc = WarpEncoding(problem, structure, model, no_reallocation=model.boolean("no_reallocation"))
    enc.loops = tuple(problem.scopes[scope] for scope in loops_by_weight(problem))
    _declare_roles(enc)
    _declare_channels(enc)
    for scope in enc.loops:
        _declare_times(enc, scope, (at_least or {}).get(scope.id, 1))
    return enc


def _declare_roles(enc: WarpEncoding) -> None:
    problem, structure, model = enc.problem, enc.structure, enc.model
    most_groups = problem.device.block_threads // WARPGROUP_THREADS
    most_warps = most_groups * WARPGROUP
    pinned_end = [pin.warps_hi or (pin.warps_lo or 0) + 1 for pin in problem.pins.roles]
    most_warps = max([most_warps, *(-(-end // WARPGROUP) * WARPGROUP for end in pinned_end)])
    most_groups = max(most_warps // WARPGROUP, problem.pins.consumer_warpgroups or 0)
    for groups in range(1, most_groups + 1):
        enc.groups[groups] = model.boolean(f"block has {groups} warpgroups")
    model.exactly_one(list(enc.groups.values()))
    step, most = problem.device.setmaxnreg_step, problem.device.setmaxnreg_maximum
    pinned_registers = [pin.registers_per_thread or 0 for pin in problem.pins.roles]
    for role in structure.roles:
        enc.first_warp[role] = model.integer(f"{role} first warp", 0, most_warps - 1)
        enc.warps[role] = model.integer(f"{role} warps", 1, most_warps)
        enc.registers[role] = model.integer(f"{role} registers", 0, max([most, *pinned_registers]))
        eighths = model.integer(f"{role} registers over {step}", 0, max([most, *pinned_registers]) // step + 1)
        with model.family("register_pool"):
            model.equal(enc.registers[role] - step * eighths, 0, note=f"setmaxnreg takes multiples of {step}")
        for op_id, roles in structure.placement.items():
            if role in roles:
                enc.place[op_id, role] = model.boolean(f"{op_id} in {role}")
    if CONSUMER in structure.roles:
        for groups in range(1, most_groups + 1):
            enc.width[groups] = model.boolean(f"{groups} consumer warpgroups")
            model.equal(enc.warps[CONSUMER], WARPGROUP * groups, when=[enc.width[groups]])
        model.exactly_one(list(enc.width.values()))


def _declare_channels(enc: WarpEncoding) -> None:
    problem, structure, model = enc.problem, enc.structure, enc.model
    nested = {channel.buffer for channel in structure.channels if channel.encloses}
    for index, channel in enumerate(structure.channels):
        most = largest_depth(problem, structure, index)
        depth = model.integer(f"depth of {channel.buffer} in {channel.scope}", 1, most)
        values = {n: model.boolean(f"depth of {channel.buffer} in {channel.scope} is {n}") for n in range(1, most + 1)}
        model.exactly_one(list(values.values()))
        model.equal(linear((1, depth), *((-n, literal.var) for n, literal in values.items())), 0)
        enc.depth.append(depth)
        enc.depth_is.append(values)
        for other, earlier in enumerate(structure.channels[:index]):
            same = (earlier.scope, earlier.producer, earlier.consumer, earlier.buffer != channel.buffer)
            alike = same == (channel.scope, channel.producer, channel.consumer, True)
            alike = alike and not nested & {earlier.buffer, channel.buffer}
            alike = alike and len(earlier.hand_offs) == len(channel.hand_offs)
            if alike and not _can_share(problem, structure, earlier, channel):
                enc.apart.append((other, index))
            elif alike:
                enc.merged[other, index] = model.boolean(f"{earlier.buffer} and {channel.buffer} share a pipeline")
        _declare_lead(enc, index)
    for buffer in dict.fromkeys(channel.buffer for channel in structure.channels):
        enc.versions_is[buffer] = _versions(enc, buffer)
    for (first, second), literal in enc.merged.items():
        for third in range(second + 1, len(structure.channels)):
            pair = [enc.merged.get((first, third)), enc.merged.get((second, third))]
            if pair[0] is not None and pair[1] is not None:
                model.any_of([pair[1]], when=[literal, pair[0]])
                model.any_of([pair[0]], when=[literal, pair[1]])
                model.any_of([literal], when=[pair[0], pair[1]])


def _versions(enc: WarpEncoding, buffer: str) -> dict[int, Literal]:
    """Literals for each number of versions of a buffer."""
    levels = [enc.depth_is[n] for n, channel in enumerate(enc.structure.channels) if channel.buffer == buffer]
    made = levels[0]
    for deeper in levels[1:]:
        products = sorted({n * m for n in made for m in deeper})
        named = {product: enc.model.boolean(f"{product} versions of {buffer}") for product in products}
        enc.model.exactly_one(list(named.values()))
        for n, outer in made.items():
            for m, inner in deeper.items():
                enc.model.any_of([named[n * m]], when=[outer, inner])
        made = named
    return made


def _can_share(problem: WarpProblem, structure: PlacedKernel, one: Channel, other: Channel) -> bool:
    """Whether one pipeline can hand over the values of two channels with equally many values, the first ones
    together and so on.
    """
    values = together((one, other))
    if any(_loop_between(problem, structure, one, value) for value in values):
        return False
    filling, using = (structure.body(one.scope, role) for role in (one.producer, one.consumer))
    for value, later in pairwise(values):
        filled, free = max(map(filling.index, value.writes)), using.index(free_after(problem.ops, using, value.reads))
        if filled >= min(map(filling.index, later.writes)) or free >= min(map(using.index, later.reads)):
            return False
    return True


def _loop_between(problem: WarpProblem, structure: PlacedKernel, channel: Channel, value: HandOff) -> bool:
    """Whether a loop that both roles of a channel enter is after a use and before a fill of a common value.

    If merged, the consumer would wait for the common commit before the loop, and the producer would reach it only after the loop,
    in which it waits for the consumer.
    """
    items = problem.scopes[channel.scope].items
    first_read, last_write = min(map(items.index, value.reads)), max(map(items.index, value.writes))
    entered = set(structure.body(channel.scope, channel.producer)) & set(
        structure.body(channel.scope, channel.consumer)
    )
    loops = [at for at, item in enumerate(items) if item in problem.scopes and item in entered]
    return any(first_read <= at < last_write for at in loops)


def _declare_lead(enc: WarpEncoding, index: int) -> None:
    channel = enc.structure.channels[index]
    lead = enc.model.boolean(f"{channel.buffer} in {channel.scope} leads its pipeline")
    earlier = [literal for (_, second), literal in enc.merged.items() if second == index]
    enc.model.any_of([lead, *earlier])
    for literal in earlier:
        enc.model.any_of([lead.negated()], when=[literal])
    enc.leads.append(lead)


def _declare_times(enc: WarpEncoding, scope: Scope, least: int) -> None:
    problem, structure, model = enc.problem, enc.structure, enc.model
    longest = max(longest_iteration(problem, structure, scope), least)
    enc.interval[scope.id] = model.integer(f"interval of {scope.id}", least, longest)
    enc.length[scope.id] = model.integer(f"length of {scope.id}", 0, 4 * longest)
    enc.late[scope.id] = model.integer(f"steps late in {scope.id}", 0, MOST_STEPS)
    for role in structure.roles:
        stages = legal_stages(problem, structure, scope, role)
        for item in structure.body(scope.id, role):
            key = (scope.id, role, item)
            enc.start[key] = model.integer(f"start of {item} in {role}", 0, (3 + stages) * longest)
            if stages:
                enc.phase[key] = model.integer(f"phase of {item} in {role}", 0, longest)
                literals = {n: model.boolean(f"stage of {item} in {role} is {n}") for n in range(stages + 1)}
                model.exactly_one(list(literals.values()))
                enc.stage_is[key] = literals
    for index, channel in enumerate(structure.channels):
        for n in range(len(channel.hand_offs)) if channel.scope == scope.id else ():
            which = f"{channel.buffer} {n}" if n else channel.buffer
            enc.full[index, n] = model.integer(f"{which} full in {scope.id}", 0, 6 * longest)
            enc.release[index, n] = model.integer(f"{which} released in {scope.id}", 0, 6 * longest)


def longest_iteration(problem: WarpProblem, structure: PlacedKernel, scope: Scope) -> int:
    """Cycles of one iteration without any overlap: every legal schedule has at most this interval."""
    fenced = [c for c in structure.channels if c.scope == scope.id and release_is_fenced(problem, c)]
    handed = sum(len(channel.hand_offs) for channel in structure.channels if channel.scope == scope.id)
    total = max(8, 2 * handed) * problem.device.barrier_latency_cycles
    total += sum(len(channel.hand_offs) for channel in fenced) * problem.device.proxy_fence_cycles
    widths = range(1, max(problem.device.block_threads // WARPGROUP_THREADS, problem.pins.consumer_warpgroups or 0) + 1)
    most_releases = sum(len(channel.hand_offs) for channel in structure.channels if channel.scope == scope.id)
    for role in structure.roles:
        warps = [default_warps(problem, structure, role)] if role != CONSUMER else [WARPGROUP * n for n in widths]
        crews = [crew_in(problem.times, structure, role, number) for number in warps]
        total += most_releases * max(problem.times.arrived(crew) for crew in crews)
        for item in structure.body(scope.id, role):
            if item in problem.scopes:
                child = problem.scopes[item]
                total += problem.trips.by_scope[item] * longest_iteration(problem, structure, child)
            else:
                op = structure.ops[item]
                total += max(_longest(problem.times, op, crew) for crew in crews)
    closings = dict.fromkeys(structure.roles, (most_releases, len(fenced)))
    floors = [
        floor_of(problem, structure, scope.id, _crews_at(problem, structure, groups), closings).cycles
        for groups in widths
    ]
    return max(total, *floors, 1)


def _longest(times: StreamTimes, op: Op, crew: Crew) -> int:
    return times.hold(op, crew) + times.result(op, crew) + times.finished(op, crew) + times.queued(op, crew)


def _crews_at(problem: WarpProblem, structure: PlacedKernel, groups: int) -> dict[str, Crew]:
    return {
        role: crew_in(
            problem.times,
            structure,
            role,
            WARPGROUP * groups if role == CONSUMER else default_warps(problem, structure, role),
        )
        for role in structure.roles
    }


def fewest_closings(problem: WarpProblem, structure: PlacedKernel, scope: str) -> dict[str, tuple[int, int]]:
    """Releases and fences of roles in one iteration of a loop if all pipelines of a role (all with a fence) were one."""
    return {
        role: (_fewest(problem, structure, scope, role), _fewest(problem, structure, scope, role, fenced=True))
        for role in closing_roles(problem.times, structure)
    }


def _fewest(problem: WarpProblem, structure: PlacedKernel, scope: str, role: str, *, fenced: bool = False) -> int:
    return max(
        (
            len(channel.hand_offs)
            for channel in structure.channels
            if channel.scope == scope and channel.consumer == role
            if not fenced or release_is_fenced(problem, channel)
        ),
        default=0,
    )
