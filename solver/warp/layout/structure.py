"""What follows from the placement alone: which role runs what in which scope, and which buffers change hands.

The placement rule is simple: TMA and cp.async loads go to the load role, tensor-memory products to the MMA role, TMA
stores to the store role if one is wanted, everything else to the consumer. Statements that only write private storage
(mainly scalar binds) go to every role that needs their result. Loads whose buffer no pipeline can hand over stay with
the role that uses it (:mod:`warpwright.solver.warp.layout.plain_copies`). Pins override the rule, operation by operation.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

from warpwright.solver.device.cycles import LOADS, plain_copy
from warpwright.solver.domain.kernel import Op
from warpwright.solver.domain.verdict import Conflict
from warpwright.solver.warp.layout.buffer_channels import Channel, channels_of
from warpwright.solver.warp.layout.instruction_order import free_after
from warpwright.solver.warp.layout.plain_copies import loads_that_stay
from warpwright.solver.warp.layout.proxies import fences_release
from warpwright.solver.warp.layout.role_placement import place
from warpwright.solver.warp.per_problem import once_per_problem
from warpwright.solver.warp.problem import ROLES, WarpProblem

__all__ = ["PlacedKernel", "release_is_fenced", "structure_of"]


@dataclass(frozen=True)
class PlacedKernel:
    """The placement and its consequences. ``conflicts`` says why no schedule with this placement can exist.

    ``ops`` are the operations as they run: a load outside all pipelines is a plain copy. ``stayed`` says for each load that
    the rule could not give to the load role the reason.
    """

    roles: tuple[str, ...]
    placement: Mapping[str, tuple[str, ...]]
    bodies: Mapping[tuple[str, str], tuple[str, ...]]
    channels: tuple[Channel, ...]
    conflicts: tuple[Conflict, ...]
    ops: Mapping[str, Op]
    plain: frozenset[str] = frozenset()
    """Loads that run as plain copies."""
    stayed: tuple[Conflict, ...] = ()

    def body(self, scope: str, role: str) -> tuple[str, ...]:
        """Items of a scope that a role runs, in source order."""
        return self.bodies.get((scope, role), ())

    def protected(self, scope: str) -> frozenset[str]:
        """Buffers that change hands in a scope."""
        return frozenset(channel.buffer for channel in self.channels if channel.scope == scope)


@once_per_problem
def structure_of(problem: WarpProblem) -> PlacedKernel:
    """The structure of a problem under its pins; computed once per problem."""
    staying: dict[str, str] = {}
    stayed: list[Conflict] = []
    while True:
        placement, conflicts = place(problem, staying)
        structure = _structure(problem, placement, conflicts)
        more = loads_that_stay(problem, placement, list(structure.conflicts))
        if not more:
            return replace(structure, stayed=tuple(stayed))
        stayed += structure.conflicts
        staying |= more


def release_is_fenced(problem: WarpProblem, channel: Channel) -> bool:
    """Whether the channel's consumer fences before it gives a slot back (:mod:`warpwright.solver.warp.layout.proxies`)."""
    placement = structure_of(problem).placement
    fills = [op for op in problem.graph.ops if channel.producer in placement[op.id]]
    uses = [
        op
        for op in problem.graph.ops
        if channel.consumer in placement[op.id]
        and channel.scope in problem.source.path_to(op.scope)
        and problem.source.item_in(channel.scope, op) in channel.reads
    ]
    return fences_release(channel.buffer, fills, uses, wgmma=problem.device.wgmma)


def _structure(problem: WarpProblem, placement: dict[str, tuple[str, ...]], conflicts: list[Conflict]) -> PlacedKernel:
    bodies: dict[tuple[str, str], tuple[str, ...]] = {}
    entered: dict[str, set[str]] = {}

    def enter(scope_id: str) -> set[str]:
        if scope_id not in entered:
            scope = problem.scopes[scope_id]
            runs = {item: enter(item) if item in problem.scopes else set(placement[item]) for item in scope.items}
            entered[scope_id] = set().union(*runs.values())
            for role in entered[scope_id]:
                bodies[scope_id, role] = tuple(item for item in scope.items if role in runs[item])
        return entered[scope_id]

    for scope in problem.graph.scopes:
        enter(scope.id)
    channels: list[Channel] = []
    for buffer in problem.graph.buffers:
        found = channels_of(problem, buffer, placement)
        if not isinstance(found, Conflict):
            found = next((c for channel in found if (c := _read_too_long(problem, bodies, channel))), found)
        if isinstance(found, Conflict):
            conflicts.append(found)
        else:
            channels += found
    used = {role for roles in placement.values() for role in roles}
    handed = {channel.buffer for channel in channels}
    percent = problem.device.load_latency_percent
    loads = [op for op in problem.graph.ops if op.kind in LOADS]
    plain = {op.id for op in loads if not handed & {access.buffer for access in op.writes}}
    ops = {op.id: plain_copy(op, percent) if op.id in plain else op for op in problem.graph.ops}
    return PlacedKernel(
        roles=tuple(role for role in ROLES if role in used),
        placement=placement,
        bodies=bodies,
        channels=tuple(channels),
        conflicts=tuple(conflicts),
        ops=ops,
        plain=frozenset(plain),
    )


def _read_too_long(
    problem: WarpProblem, bodies: Mapping[tuple[str, str], tuple[str, ...]], channel: Channel
) -> Conflict | None:
    """A value that a product in flight still reads when the next one is waited for: each role has a pipeline open
    only once at a time.
    """
    items = bodies[channel.scope, channel.consumer]
    for value, later in pairwise(channel.hand_offs):
        free = free_after(problem.ops, items, value.reads)
        if items.index(free) >= items.index(later.reads[0]):
            message = (
                f"{value.reads[-1]} reads {channel.buffer} until {free}, but {later.reads[0]} needs the next value of it "
                "before that; each role has a pipeline open only once at a time"
            )
            return Conflict("hand_offs", message, f"wait for {value.reads[-1]} first", channel.buffer)
    return None
