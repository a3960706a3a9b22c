"""The least interval of a kernel's main loop over every legal schedule: any width, placement, order, depth and register split.

A placement is relaxed to what it must leave in one role. Operations that share private storage with a matrix product of threads
run in the product's role (its instance of the storage is the only one), so that role's stream, width and releases are known.
Everything else may be elsewhere and then costs only the units that it uses, which is the same in every role. A load is either
a bulk load, whichever role starts it, or a plain copy in the role that uses its data; the bound is the least over these.
Names of roles make no difference to times (:func:`warpwright.solver.warp.floors.closing_roles`), so the product's role is called
the consumer here. Each number is a floor (:mod:`warpwright.solver.warp.floors`), which no order and no depth can go below.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product

from warpwright.solver.device.cycles import LOADS, plain_copy
from warpwright.solver.device.limits import WARPGROUP, WARPGROUP_THREADS
from warpwright.solver.device.stream_steps import Crew
from warpwright.solver.device.wgmma import is_wgmma
from warpwright.solver.domain.bound import Bound
from warpwright.solver.domain.kernel import Op
from warpwright.solver.domain.pins import Pins
from warpwright.solver.warp.families.warp_ranges import layout_conflict, width_conflict
from warpwright.solver.warp.floors import crew_in, floor_of
from warpwright.solver.warp.layout.buffer_channels import Channel
from warpwright.solver.warp.layout.instruction_order import still_used
from warpwright.solver.warp.layout.role_placement import tied_to
from warpwright.solver.warp.layout.structure import release_is_fenced, structure_of
from warpwright.solver.warp.per_problem import once_per_problem
from warpwright.solver.warp.problem import CONSUMER, WarpProblem
from warpwright.solver.warp.registers import widest_refusal
from warpwright.solver.warp.timing import loops_by_weight

__all__ = ["bound_of_every_schedule"]

ELSEWHERE, TOGETHER = "elsewhere", "together"
"""Roles of a relaxed placement: some other role or roles; and the role of tied operations without a product of threads."""
MOST_LOADS = 6
"""Loads of a loop whose two ways are all tried; beyond, each counts as the units that it uses in either way."""


@dataclass(frozen=True)
class _Relaxed:
    """A placement with what it leaves open; what a floor depends on."""

    placement: Mapping[str, tuple[str, ...]]
    ops: Mapping[str, Op]
    items: tuple[str, ...]
    scope: str
    nested: bool
    """Whether the main loop has loops in it: then no stream is counted, for whoever enters them is open."""

    def body(self, scope: str, role: str) -> tuple[str, ...]:
        """Items of the main loop that a role certainly runs."""
        if scope != self.scope or role == ELSEWHERE or self.nested:
            return ()
        return tuple(item for item in self.items if role in self.placement.get(item, ()))


def bound_of_every_schedule(problem: WarpProblem) -> Bound | None:
    """The bound of the main loop's interval in every legal schedule of the pinned width (of every width without such a pin),
    whatever else is pinned.

    None if the kernel has no loop, or several matrix products of threads that need not be in one role.
    """
    free = replace(problem, pins=Pins(consumer_warpgroups=problem.pins.consumer_warpgroups))
    return _of_width(free) if loops_by_weight(free) else None


@once_per_problem
def _of_width(problem: WarpProblem) -> Bound | None:
    scope = loops_by_weight(problem)[0]
    tied = _tied(problem, scope)
    if tied is None:
        return None
    found = [_least(problem, scope, tied, groups) for groups in _widths(problem, tied)]
    least = min(found, key=lambda bound: bound.cycles)
    # At the best width and in any placement: a unit's cycles are the kernel's own.
    kind, _, rest = least.reason.partition(":")
    return replace(least, reason=f"resource:{rest}") if kind == "busy" else least


def _tied(problem: WarpProblem, scope: str) -> frozenset[str] | None:
    """Operations that one role certainly runs: those tied to the loop's matrix products of threads, or to the operation that
    keeps a stream longest. None if products need not be together.
    """
    below = problem.source.below(scope)
    products = [op for op in below if problem.times.by_threads(op)]
    if products:
        tied = tied_to(problem, products if _in_the_consumer(problem, products) else products[:1])
        return tied if all(op.id in tied for op in products) else None
    crew = problem.times.crew(problem.graph.ops, WARPGROUP)
    threads = [op for op in below if op.kind not in LOADS and op.gemm is None]
    longest = max(threads, key=lambda op: problem.times.hold(op, crew), default=None)
    return frozenset() if longest is None else tied_to(problem, [longest])


def _in_the_consumer(problem: WarpProblem, ops: Iterable[Op]) -> bool:
    """Whether these operations have products that only the consumer can issue."""
    products = [op for op in ops if problem.times.by_threads(op)]
    return bool(products) and all(problem.device.wgmma and op.gemm and is_wgmma(op.gemm) for op in products)


def _widths(problem: WarpProblem, tied: frozenset[str]) -> tuple[int, ...]:
    """Widths that the tied operations allow in whichever role they are; one if nothing depends on it."""
    pinned = problem.pins.consumer_warpgroups
    ops = tuple(op for op in problem.graph.ops if op.id in tied)
    if not ops:
        return (1,)
    most = problem.device.block_threads // WARPGROUP_THREADS
    widths = (pinned,) if pinned is not None and _in_the_consumer(problem, ops) else tuple(range(1, most + 1))
    legal = [groups for groups in widths if not _refused(problem, ops, groups)]
    return tuple(legal) or widths


def _refused(problem: WarpProblem, ops: tuple[Op, ...], groups: int) -> str:
    ranges = "warp_ranges" in problem.relaxed
    warps = WARPGROUP * groups
    said = "" if ranges else width_conflict(problem, ops, warps) or layout_conflict(problem, ops, warps)
    return said or widest_refusal(problem, ops, groups)


def _least(problem: WarpProblem, scope: str, tied: frozenset[str], groups: int) -> Bound:
    """The least bound at one width over the ways of the loop's loads."""
    return min((_bound(problem, scope, tied, groups, plain) for plain in _ways(problem, scope)), key=lambda b: b.cycles)


def _ways(problem: WarpProblem, scope: str) -> Iterator[frozenset[str] | None]:
    """Sets of the loop's loads that run as plain copies; only None (either way) if there are too many."""
    loads = [op.id for op in problem.source.below(scope) if op.kind in LOADS and not _overtaken(problem, op)]
    if len(loads) > MOST_LOADS:
        yield None
        return
    for chosen in product((False, True), repeat=len(loads)):
        yield frozenset(load for load, plain in zip(loads, chosen, strict=True) if plain)


def _overtaken(problem: WarpProblem, load: Op) -> bool:
    """Whether no role can copy this in front of the products into tensor memory that read it: none waits for them."""
    filled = {access.buffer for access in load.writes}
    readers = [op for op in problem.graph.ops if filled & {access.buffer for access in op.reads}]
    return any(still_used(problem, op, load) for op in readers)


def _bound(problem: WarpProblem, scope: str, tied: frozenset[str], groups: int, plain: frozenset[str] | None) -> Bound:
    percent = problem.device.load_latency_percent
    role = CONSUMER if any(problem.times.by_threads(problem.ops[op_id]) for op_id in tied) else TOGETHER
    users = _users(problem, tied)
    placement: dict[str, tuple[str, ...]] = {}
    ops: dict[str, Op] = {}
    apart: list[Op] = []
    for op in problem.graph.ops:
        copied = plain is not None and op.id in plain
        with_users = copied and op.id in users
        ops[op.id] = plain_copy(op, percent) if copied else op
        placement[op.id] = (role,) if op.id in tied or with_users else (ELSEWHERE,)
        if copied and not with_users:
            apart.append(ops[op.id])
    items = tuple(problem.scopes[scope].items)
    if plain is None:
        placement = {op_id: where for op_id, where in placement.items() if ops[op_id].kind not in LOADS}
    nested = any(item in problem.scopes for item in items)
    relaxed = _Relaxed(placement, ops, items, scope, nested)
    crews = {name: _crew(problem, relaxed, name, groups) for name in (role, ELSEWHERE)}
    closings = {CONSUMER: _closings(problem, scope, tied, plain)} if role == CONSUMER else {}
    floor = floor_of(problem, relaxed, scope, crews, closings)
    bounds = [replace(bound, reason=bound.reason.replace(TOGETHER, CONSUMER)) for bound in floor.bounds]
    return max([*bounds, *_copied_apart(problem, scope, apart)], key=lambda bound: bound.cycles)


def _crew(problem: WarpProblem, relaxed: _Relaxed, role: str, groups: int) -> Crew:
    return crew_in(problem.times, relaxed, role, WARPGROUP * groups if role != ELSEWHERE else 1)


def _users(problem: WarpProblem, tied: frozenset[str]) -> frozenset[str]:
    """Loads of data that a tied operation uses: as plain copies they are in its role."""
    used = {a.buffer for op_id in tied for a in (*problem.ops[op_id].reads, *problem.ops[op_id].writes)}
    return frozenset(
        op.id for op in problem.graph.ops if op.kind in LOADS and used & {access.buffer for access in op.writes}
    )


def _copied_apart(problem: WarpProblem, scope: str, loads: list[Op]) -> list[Bound]:
    """What a plain copy in some other role takes of that role's stream, whatever its width."""
    here = [op for op in loads if op.scope == scope]
    most = problem.device.block_threads // WARPGROUP_THREADS
    crews = [Crew(WARPGROUP * groups, groups, False) for groups in range(1, most + 1)]
    return [
        Bound(min(problem.times.hold(op, crew) for crew in crews), f"stream:the role that uses {op.writes[0].buffer}")
        for op in here
    ]


def _closings(problem: WarpProblem, scope: str, tied: frozenset[str], plain: frozenset[str] | None) -> tuple[int, int]:
    """Releases and fences that the tied role has at least: of buffers that only bulk loads and tied operations touch."""
    if plain is None:
        return 0, 0
    held = [channel for channel in structure_of(problem).channels if channel.scope == scope]
    sure = [c for c in held if c.consumer == CONSUMER and _is_sure(problem, c, tied, plain)]
    releases = max((len(channel.hand_offs) for channel in sure), default=0)
    fences = max((len(c.hand_offs) for c in sure if release_is_fenced(problem, c)), default=0)
    return releases, fences


def _is_sure(problem: WarpProblem, channel: Channel, tied: frozenset[str], plain: frozenset[str]) -> bool:
    touching = [
        op for op in problem.graph.ops if channel.buffer in {access.buffer for access in (*op.reads, *op.writes)}
    ]
    loads = {op.id for op in touching if op.kind in LOADS and channel.scope in problem.source.path_to(op.scope)}
    return bool(loads) and not loads & plain and all(op.id in loads or op.id in tied for op in touching)
