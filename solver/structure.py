"""What follows from the placement alone: which role runs what in which scope, and which buffers change hands.

The placement rule is simple: TMA and cp.async loads go to the load role, tensor-memory products to the MMA role, TMA
stores to the store role when one is wanted, everything else to the consumer. Statements that only write private storage
(scalar binds above all) go to every role that needs their result. Pins override the rule, operation by operation.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from solver.domain.kernel import ROOT, Buffer, Issue, Memory, Op, OpKind, ScopeKind
from solver.domain.verdict import Conflict
from solver.problem import CONSUMER, LOAD, MMA, ROLES, STORE, WarpProblem

__all__ = [
    "PRIVATE_MEMORIES",
    "PROTECTED_MEMORIES",
    "Channel",
    "Structure",
    "loop_carried",
    "path_to",
    "source_order",
    "structure_of",
]

PROTECTED_MEMORIES = frozenset({Memory.SHARED, Memory.TENSOR})
"""Memories a pipeline can protect: storage of the whole block (TileLang 0.1.15 wheel, MWS:624-630)."""
PRIVATE_MEMORIES = frozenset({Memory.FRAGMENT, Memory.LOCAL})


@dataclass(frozen=True, slots=True)
class Channel:
    """A buffer that one role fills and another uses, handed over once an iteration of ``scope``.

    ``writes`` and ``reads`` are the items of the scope (operations or child loops) in which each side touches it.
    """

    buffer: str
    scope: str
    producer: str
    consumer: str
    writes: tuple[str, ...]
    reads: tuple[str, ...]
    carried: str
    """Why only one version is right (a value lives from one iteration to the next); empty when versions are free."""

    @property
    def name(self) -> str:
        """The pipeline's name when the buffer has one of its own."""
        return self.buffer.lower()


@dataclass(frozen=True)
class Structure:
    """The placement and its consequences. ``conflicts`` says why no schedule with this placement can exist."""

    roles: tuple[str, ...]
    placement: Mapping[str, tuple[str, ...]]
    bodies: Mapping[tuple[str, str], tuple[str, ...]]
    channels: tuple[Channel, ...]
    conflicts: tuple[Conflict, ...]

    def body(self, scope: str, role: str) -> tuple[str, ...]:
        """Items of a scope that a role runs, in source order."""
        return self.bodies.get((scope, role), ())

    def protected(self, scope: str) -> frozenset[str]:
        """Buffers that change hands in a scope."""
        return frozenset(channel.buffer for channel in self.channels if channel.scope == scope)


@lru_cache(maxsize=64)
def _cached(digest: str, problem: "_Keyed") -> Structure:
    placement, conflicts = _place(problem.problem)
    return _structure(problem.problem, placement, conflicts)


class _Keyed:
    """Carries a problem through the cache, equal to every other: the digest is the key."""

    def __init__(self, problem: WarpProblem) -> None:
        self.problem = problem

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Keyed)

    def __hash__(self) -> int:
        return 0


def structure_of(problem: WarpProblem) -> Structure:
    """The structure of a problem under its pins; computed once a problem."""
    return _cached(problem.digest, _Keyed(problem))


def _rule(problem: WarpProblem, op: Op) -> str | None:
    """The role that the rule gives an operation; None for statements that follow their users."""
    pinned = [pin.role for pin in problem.pins.placements if pin.op == op.id]
    if pinned:
        return pinned[0]
    if op.kind in (OpKind.TMA_LOAD, OpKind.ASYNC_LOAD):
        return LOAD
    if op.gemm is not None:
        return MMA if op.gemm.c_memory is Memory.TENSOR else CONSUMER
    if op.kind is OpKind.TMA_STORE and problem.pins.store_role:
        return STORE
    memories = {problem.graph.buffer(access.buffer).memory for access in op.writes}
    return None if op.kind is OpKind.BIND or (memories and memories <= PRIVATE_MEMORIES) else CONSUMER


def _place(problem: WarpProblem) -> tuple[dict[str, tuple[str, ...]], list[Conflict]]:
    """Roles of every operation. Followers go where their scalars and private buffers are used, transitively."""
    ops = problem.graph.ops
    roles: dict[str, set[str]] = {op.id: {r} if (r := _rule(problem, op)) else set() for op in ops}
    fixed = {op_id for op_id, where in roles.items() if where}
    producers: dict[str, list[Op]] = {}
    for op in ops:
        for name in _private_results(problem, op):
            producers.setdefault(name, []).append(op)
    changed = True
    while changed:
        changed = False
        for op in ops:
            for name in _private_needs(problem, op):
                for source in producers.get(name, ()):
                    if source.id not in fixed and not roles[op.id] <= roles[source.id]:
                        roles[source.id] |= roles[op.id]
                        changed = True
    conflicts = []
    for op in ops:
        where = roles[op.id] or {CONSUMER}
        if len(where) > 1 and not (op.replicable or op.kind is OpKind.BIND):
            message = (
                f"{op.id} writes private storage that {_list(where)} need, but it cannot run in more than one role: "
                "it touches storage of the whole block"
            )
            conflicts.append(Conflict("hand_offs", message, "place its users in one role", op.id))
            where = {CONSUMER} if CONSUMER in where else {min(where, key=ROLES.index)}
        roles[op.id] = where
    for op in ops:
        for name in _private_needs(problem, op):
            for source in producers.get(name, ()):
                missing = sorted(roles[op.id] - roles[source.id])
                if missing and not name.startswith("$") and name in {access.buffer for access in op.reads}:
                    message = (
                        f"{missing[0]} reads {name} in {op.id}, but {source.id} fills another role's instance of it"
                    )
                    relaxation = f"place {op.id} in {sorted(roles[source.id])[0]}"
                    conflicts.append(Conflict("hand_offs", message, relaxation, op.id))
    return {op.id: tuple(sorted(roles[op.id], key=ROLES.index)) for op in ops}, conflicts


def _private_results(problem: WarpProblem, op: Op) -> set[str]:
    names = {a.buffer for a in op.writes if problem.graph.buffer(a.buffer).memory in PRIVATE_MEMORIES}
    return names | ({f"${op.binds}"} if op.binds else set())


def _private_needs(problem: WarpProblem, op: Op) -> set[str]:
    touched = {a.buffer for a in (*op.reads, *op.writes)}
    names = {name for name in touched if problem.graph.buffer(name).memory in PRIVATE_MEMORIES}
    return names | {f"${scalar}" for scalar in op.uses_scalars}


def _structure(problem: WarpProblem, placement: dict[str, tuple[str, ...]], conflicts: list[Conflict]) -> Structure:
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
        found = _channel_of(problem, buffer, placement)
        if isinstance(found, Channel):
            channels.append(found)
        elif found is not None:
            conflicts.append(found)
    used = {role for roles in placement.values() for role in roles}
    return Structure(
        roles=tuple(role for role in ROLES if role in used),
        placement=placement,
        bodies=bodies,
        channels=tuple(channels),
        conflicts=tuple(conflicts),
    )


def path_to(problem: WarpProblem, scope_id: str) -> tuple[str, ...]:
    """Scopes from the root down to this one."""
    path: list[str] = []
    current: str | None = scope_id
    while current is not None:
        path.append(current)
        current = problem.scopes[current].parent
    return tuple(reversed(path))


def meeting_scope(problem: WarpProblem, first: Op, second: Op) -> str:
    """The innermost scope that holds both operations."""
    common = ROOT
    for left, right in zip(path_to(problem, first.scope), path_to(problem, second.scope), strict=False):
        if left != right:
            break
        common = left
    return common


def item_in(problem: WarpProblem, scope_id: str, op: Op) -> str:
    """The item of a scope that is or holds an operation."""
    path = (*path_to(problem, op.scope), op.id)
    return path[path.index(scope_id) + 1]


def _channel_of(
    problem: WarpProblem, buffer: Buffer, placement: Mapping[str, tuple[str, ...]]
) -> Channel | Conflict | None:
    """The channel of a buffer that two roles touch, why it cannot have one, or nothing where it stays in one role."""
    touching = [op for op in problem.graph.ops if buffer.name in {a.buffer for a in (*op.reads, *op.writes)}]
    writers = [op for op in touching if buffer.name in {a.buffer for a in op.writes}]
    roles = {role for op in touching for role in placement[op.id]}
    if buffer.memory in PRIVATE_MEMORIES or len(roles) < 2 or not writers:
        return None
    if buffer.memory is Memory.GLOBAL:
        message = f"global {buffer.name} is written by one role and touched by another; no pipeline can protect it"
        return Conflict("hand_offs", message, "place all of its accesses in one role", buffer.name)
    if len(roles) > 2:
        message = f"{buffer.name} is touched by {_list(roles)}; a pipeline has one producer and one consumer"
        return Conflict("hand_offs", message, "place its accesses in two roles", buffer.name)
    producer = placement[writers[0].id][0]
    consumer = next(role for role in roles if role != producer)
    filling = [op for op in touching if producer in placement[op.id]]
    using = [op for op in touching if consumer in placement[op.id]]
    scopes = {meeting_scope(problem, w, r) for w in filling for r in using if w in writers or r in writers}
    for scope in sorted(scopes):
        late = [op for op in using if _reads_older_value(problem, scope, op, buffer.name, filling)]
        if late:
            message = (
                f"{late[0].id} reads the {buffer.name} that {writers[0].id} filled an iteration of {scope} earlier; "
                "a pipeline hands over the value of the same iteration"
            )
            return Conflict("hand_offs", message, f"place {writers[0].id} in the {consumer} role", buffer.name)
    if len(scopes) > 1:
        # Siblings cannot share a pipeline; nested ones could, but what the outer use would read of the inner ring is
        # nowhere defined. Two buffers say what is meant.
        message = f"{buffer.name} changes hands in {_list(scopes)}; its pipeline can be in one scope only"
        return Conflict("hand_offs", message, "use one buffer a loop", buffer.name)
    (scope,) = scopes
    inside = [op for op in touching if scope in path_to(problem, op.scope)]
    order = {item: n for n, item in enumerate(problem.scopes[scope].items)}
    writes = {item_in(problem, scope, op) for op in inside if op in filling}
    reads = {item_in(problem, scope, op) for op in inside if op in using}
    return Channel(
        buffer=buffer.name,
        scope=scope,
        producer=producer,
        consumer=consumer,
        writes=tuple(sorted(writes, key=order.__getitem__)),
        reads=tuple(sorted(reads, key=order.__getitem__)),
        carried=loop_carried(problem, buffer.name, scope),
    )


def _reads_older_value(problem: WarpProblem, scope: str, op: Op, buffer: str, writers: list[Op]) -> bool:
    """Whether the operation stands before every write of the buffer in this scope, so that its value is an older one."""
    if problem.scopes[scope].kind is ScopeKind.ROOT:
        return False
    order = [other.id for other in source_order(problem, scope)]
    if op.id not in order:
        return False
    inside = [order.index(writer.id) for writer in writers if writer.id in order]
    reads = buffer in {access.buffer for access in op.reads}
    return reads and bool(inside) and order.index(op.id) < min(inside)


def source_order(problem: WarpProblem, scope_id: str) -> list[Op]:
    """Every operation of a scope and its child loops, in source order."""
    ordered: list[Op] = []
    for item in problem.scopes[scope_id].items:
        ordered += source_order(problem, item) if item in problem.scopes else [problem.ops[item]]
    return ordered


def loop_carried(problem: WarpProblem, buffer: str, scope_id: str) -> str:
    """Why a buffer may have one version only in this scope; empty when each iteration starts afresh.

    A value that lives from one iteration to the next (a read before the first whole write, a partial or guarded first
    write) would be the value of ``depth`` iterations ago in a versioned buffer. TileLang does not check it (rules 1.14.8).
    Parts that asynchronous loads fill together count as a whole.
    """
    if problem.scopes[scope_id].kind is ScopeKind.ROOT:
        return ""
    for op in source_order(problem, scope_id):
        if buffer in {access.buffer for access in op.reads}:
            return f"{op.id} reads its value of an iteration earlier"
        for access in op.writes:
            if access.buffer != buffer:
                continue
            if op.guarded:
                return f"{op.id} writes it under a guard only"
            if access.whole or op.issue is Issue.ASYNCHRONOUS:
                return ""
            return f"{op.id} writes a part of it only"
    return ""


def _list(names: set[str] | list[str]) -> str:
    return " and ".join(sorted(names))
