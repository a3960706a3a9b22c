"""Least interval of a loop whatever its order and depths: what its units, queues and streams have to do in one iteration.

The forecast mixes two plays (:mod:`warpwright.solver.device.stream_times`), so the floor is the mix of the larger reason in
each. Reasons: ``resource:<unit>`` (a unit is busy so long), ``queue:<name>`` (jobs that go one at a time), ``stream:<role>``
(one warpgroup's own program), ``copies:<role>`` (products of all its warpgroups, then plain copies),
``contention:products and loads`` (both read or write shared memory, so each slows the other).
A floor by two different reasons is named ``phases:<turns>/<in step>``.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Protocol

from warpwright.solver.device.operation_costs import LOAD_QUEUE, TENSOR_QUEUE, OperationCost
from warpwright.solver.device.stream_steps import Crew, is_plain
from warpwright.solver.device.stream_times import StreamTimes
from warpwright.solver.domain.kernel import Op, OpKind
from warpwright.solver.domain.verdict import Bound
from warpwright.solver.warp.layout.instruction_order import wait_behind
from warpwright.solver.warp.problem import CONSUMER, WarpProblem

__all__ = ["Floor", "Floored", "closing_roles", "crew_in", "floor_of", "units_of"]

CONTENTION = "contention:products and loads"
EPSILON = 1e-6


class Floored(Protocol):
    """What a floor depends on, during or after the search."""

    @property
    def placement(self) -> Mapping[str, tuple[str, ...]]:
        """Roles of each operation."""
        ...

    @property
    def ops(self) -> Mapping[str, Op]:
        """Operations by id, as they run."""
        ...

    def body(self, scope: str, role: str) -> tuple[str, ...]:
        """Items of a role's body, in source order."""
        ...


@dataclass(frozen=True, slots=True)
class Floor:
    """Bounds of one loop's interval, the largest first; never empty."""

    bounds: tuple[Bound, ...]
    apart: float = 1.0
    together: float = 1.0
    """The largest reason with warpgroups that take turns, and in step."""
    speeds: tuple[tuple[float, float], tuple[float, float]] = ((1.0, 1.0), (1.0, 1.0))
    """In either play, the least progress per cycle of a product beside a load, and of a load beside a product."""
    moved: float = 0.0
    """Cycles that the loads of one iteration keep their queue."""

    @property
    def cycles(self) -> int:
        """The largest of them."""
        return self.bounds[0].cycles


@dataclass(slots=True)
class _Account:
    """What one iteration asks for, by reason: with warpgroups that take turns, and in step."""

    apart: dict[str, float] = field(default_factory=dict)
    together: dict[str, float] = field(default_factory=dict)

    def add(self, reason: str, apart: float, together: float) -> None:
        self.apart[reason] = self.apart.get(reason, 0.0) + apart
        self.together[reason] = self.together.get(reason, 0.0) + together

    def at_least(self, reason: str, apart: float, together: float) -> None:
        self.apart[reason] = max(self.apart.get(reason, 0.0), apart)
        self.together[reason] = max(self.together.get(reason, 0.0), together)


def crew_in(times: StreamTimes, placed: Floored, role: str, warps: int) -> Crew:
    """The streams of a role with this many warps."""
    ops = tuple(op for op in placed.ops.values() if role in placed.placement.get(op.id, ()))
    return times.crew(ops, warps)


def floor_of(
    problem: WarpProblem,
    placed: Floored,
    scope: str,
    crews: Mapping[str, Crew],
    closings: Mapping[str, tuple[int, int]] = MappingProxyType({}),
) -> Floor:
    """The floor of a loop for roles of these widths.

    Args:
        problem: The closed problem.
        placed: Placement, and operations as they run.
        scope: The loop.
        crews: Streams by role.
        closings: By role, the barriers that it arrives on at least in one iteration of the loop itself, and the fences between
            the proxies that it waits for at least (:func:`closing_roles`).
    """
    times, account = problem.times, _Account()
    for op, role, count in _below(problem, placed, scope):
        if role not in crews:
            continue
        for unit, cycles in times.demands(op, crews[role]).items():
            account.add(f"busy:{unit}", count * cycles, count * cycles)
        queue, cycles = times.queue(op, crews[role])
        if queue:
            # Streams in step share the tensor core; they have a queue each.
            account.add(f"queue:{queue}", count * cycles, 0.0 if queue == TENSOR_QUEUE else count * cycles)
    for role, crew in crews.items():
        _add_stream(problem, placed, scope, role, crew, closings.get(role, (0, 0)), account)
        _add_copies(problem, placed, scope, role, crew, account)
    speeds = _add_contention(problem, placed, scope, crews, account)
    return _floor(times, account, speeds)


def closing_roles(times: StreamTimes, placed: Floored) -> tuple[str, ...]:
    """Roles whose releases take time of their threads: the consumer, and wherever else threads do a matrix product.

    The names of roles make no difference: products in another role of the same width take as long.
    """
    multiplying = [op_id for op_id, op in placed.ops.items() if times.by_threads(op)]
    return tuple(
        dict.fromkeys([CONSUMER, *(role for op_id in multiplying for role in placed.placement.get(op_id, ()))])
    )


def units_of(problem: WarpProblem, placed: Floored, scope: str, crews: Mapping[str, Crew]) -> dict[str, float]:
    """Cycles for which one iteration of a loop keeps each unit busy, without arrivals on barriers."""
    busy: dict[str, float] = {}
    for op, role, count in _below(problem, placed, scope):
        for unit, cycles in problem.times.demands(op, crews[role]).items() if role in crews else ():
            busy[unit] = busy.get(unit, 0.0) + count * cycles
    return busy


def _floor(times: StreamTimes, account: _Account, speeds: tuple[tuple[float, float], tuple[float, float]]) -> Floor:
    bounds = [
        Bound(int(times.mixed(account.apart[reason], account.together[reason]) + EPSILON), reason)
        for reason in account.apart
    ]
    if bounds:
        first = max(account.apart, key=lambda reason: account.apart[reason])
        second = max(account.together, key=lambda reason: account.together[reason])
        cycles = int(times.mixed(account.apart[first], account.together[second]) + EPSILON)
        if first != second and cycles > max(bound.cycles for bound in bounds):
            bounds.append(Bound(cycles, f"phases:{first}/{second}"))
    held = sorted((bound for bound in bounds if bound.cycles > 0), key=lambda bound: (-bound.cycles, bound.reason))
    return Floor(
        tuple(held) or (Bound(1, "time:one cycle"),),
        max(account.apart.values(), default=1.0),
        max(account.together.values(), default=1.0),
        speeds,
        account.apart.get(f"queue:{LOAD_QUEUE}", 0.0),
    )


def _below(problem: WarpProblem, placed: Floored, scope: str) -> Iterator[tuple[Op, str, int]]:
    """Operations of a loop and the loops in it, with the role, and how often one iteration of the loop runs them."""
    once = problem.trips.total(scope)
    for op in problem.source.below(scope):
        for role in placed.placement.get(op.id, ()):
            yield placed.ops[op.id], role, problem.trips.total(op.scope) // once


def _add_stream(
    problem: WarpProblem,
    placed: Floored,
    scope: str,
    role: str,
    crew: Crew,
    closings: tuple[int, int],
    account: _Account,
) -> None:
    times, body = problem.times, placed.body(scope, role)
    releases, fences = closings
    apart, together = times.release(crew)
    if releases:
        account.add("busy:shared", releases * together, releases * together)
    if not body or any(item in problem.scopes for item in body):
        return  # a loop in the body takes its own interval: the event graph adds it
    fence = fences * problem.device.proxy_fence_cycles
    account.add(f"stream:{role}", releases * apart + fence, releases * together + fence)
    for item in body:
        account.add(f"stream:{role}", *times.held(placed.ops[item], crew))


def _add_copies(problem: WarpProblem, placed: Floored, scope: str, role: str, crew: Crew, account: _Account) -> None:
    """A role that copies by its threads: every copy ends at a barrier of all its warpgroups, so between two of them all of them
    multiply, one product at a time, and the one that is last copies after that.

    What a stream waits for at once is over before its next copy. A product left in flight is so only for copies of its own
    operands, if the iteration waits for it.
    """
    times, items = problem.times, problem.scopes[scope].items
    body = [placed.ops[item] for item in placed.body(scope, role) if item in placed.ops]
    copies = [op for op in body if is_plain(problem.ops[op.id], op)]
    products = [op for op in body if times.by_threads(op)] if copies else []
    held = [op for op in products if not op.left_in_flight]
    chains = [(held, copies)] if held else []
    for op in products:
        read = {access.buffer for access in op.reads}
        mine = [copy for copy in copies if read & {access.buffer for access in copy.writes}]
        if op.left_in_flight and mine and wait_behind(problem.ops, items, op.id) is not None:
            chains.append(([op], mine))
    for multiplied, copied in chains:
        jobs = [times.step(op, crew).job for op in multiplied]
        after = sum(times.copied(copy, crew) for copy in copied)
        account.at_least(
            f"copies:{role}",
            sum(job.alone * crew.streams for job in jobs) + after,
            sum(_in_step(job, crew.streams) for job in jobs) + after,
        )


def _add_contention(
    problem: WarpProblem, placed: Floored, scope: str, crews: Mapping[str, Crew], account: _Account
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Products and loads at the same time slow each other if a unit that both use is full.

    While both run, they advance equally until the unit is full (the rule of the forecast's event core). The answer are their
    least speeds beside each other, in either play.
    """
    products: list[tuple[OperationCost, int]] = []
    loads: list[OperationCost] = []
    running: set[str] = set()
    for item in problem.scopes[scope].items:
        for role in placed.placement.get(item, ()) if item in problem.ops else ():
            op = placed.ops[item]
            step = problem.times.step(op, crews[role]) if role in crews else None
            if step is not None and op.gemm is not None:
                products.append((step.job, crews[role].streams))
                running |= {role} if problem.times.by_threads(op) else set()
            elif step is not None and op.kind is OpKind.TMA_LOAD:
                loads.append(step.job)
    if not products or not loads or any(item in problem.scopes for item in problem.scopes[scope].items):
        return (1.0, 1.0), (1.0, 1.0)
    moved = account.apart[f"queue:{LOAD_QUEUE}"]
    apart = _overlapped(products, loads, moved, spare=0.0, in_step=False)
    stream = min(account.together.get(f"stream:{role}", 0.0) for role in running or {CONSUMER})
    multiplied = sum(_in_step(job, streams) for job, streams in products)
    together = _overlapped(products, loads, moved, spare=max(0.0, stream - multiplied), in_step=True)
    account.add(CONTENTION, apart, together)
    pairs = [(job, streams, load) for job, streams in products for load in loads]
    turns = min((_speeds(job, 1, load) for job, _, load in pairs), key=sum)
    in_step = min((_speeds(job, streams, load) for job, streams, load in pairs), key=sum)
    return turns, in_step


def _overlapped(
    products: Sequence[tuple[OperationCost, int]],
    loads: Sequence[OperationCost],
    moved: float,
    *,
    spare: float,
    in_step: bool,
) -> float:
    """Cycles that products and loads of one iteration take at least.

    ``spare`` are cycles in which no product runs anyway: loads have all units then.
    """
    needed, slowest = 0.0, (1.0, 1.0)
    fastest = 0.0
    for job, streams in products:
        needed += _in_step(job, streams) if in_step else job.alone * streams
        for load in loads:
            speeds = _speeds(job, streams if in_step else 1, load)
            if sum(speeds) > fastest:
                fastest, slowest = sum(speeds), speeds
    product, load_speed = slowest
    if product >= 1.0 - EPSILON:
        return max(needed, moved)
    if in_step:
        overlap = min(needed / product, max(0.0, moved - spare) / load_speed)
        return spare + needed + (1.0 - product) * overlap
    overlap = min(needed / product, moved / load_speed)
    return needed + moved - (product + load_speed - 1.0) * overlap


def _in_step(job: OperationCost, streams: int) -> float:
    return max([job.floor, *(streams * amount for _, amount in job.demands)])


def _speeds(job: OperationCost, streams: int, load: OperationCost) -> tuple[float, float]:
    """Progress per cycle of equal products in so many streams, and of a load beside them, each relative to running without
    the other.
    """
    own, other = dict(job.rates), dict(load.rates)
    cap = 1.0 / max(1.0, *(streams * rate for rate in own.values()))
    both = max(streams * rate + other.get(unit, 0.0) for unit, rate in own.items())
    if both * cap <= 1.0 + EPSILON:
        return 1.0, 1.0
    return (1.0 / both) / cap, 1.0 / both
