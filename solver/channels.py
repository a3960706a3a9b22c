"""Buffers that change hands between roles: in which scope, from whom to whom, and why some cannot."""

from collections.abc import Mapping
from dataclasses import dataclass

from solver.domain.kernel import ROOT, Buffer, Issue, Memory, Op, ScopeKind
from solver.domain.verdict import Conflict
from solver.problem import WarpProblem

__all__ = [
    "PRIVATE_MEMORIES",
    "PROTECTED_MEMORIES",
    "Channel",
    "channel_of",
    "item_in",
    "loop_carried",
    "meeting_scope",
    "path_to",
    "source_order",
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


def channel_of(
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
