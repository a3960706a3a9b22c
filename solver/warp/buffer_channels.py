"""Buffers that change hands between roles: in which scope, from whom to whom, and why some cannot."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from warpwright.solver.domain.kernel import ROOT, Buffer, Issue, Memory, Op, ScopeKind
from warpwright.solver.domain.verdict import Conflict
from warpwright.solver.warp.problem import WarpProblem

__all__ = [
    "PRIVATE_MEMORIES",
    "PROTECTED_MEMORIES",
    "Channel",
    "HandOff",
    "channels_of",
    "comes_first",
    "hand_offs",
    "item_in",
    "loop_carried",
    "meeting_scope",
    "path_to",
    "source_order",
    "together",
]

PROTECTED_MEMORIES = frozenset({Memory.SHARED, Memory.TENSOR})
"""Memories a pipeline can protect: storage of the whole block (TileLang 0.1.15 wheel, MWS:624-630)."""
PRIVATE_MEMORIES = frozenset({Memory.FRAGMENT, Memory.LOCAL})


@dataclass(frozen=True, slots=True)
class HandOff:
    """One value's way: the items of a scope (operations or child loops) that fill it and those that use it, in source order."""

    writes: tuple[str, ...]
    reads: tuple[str, ...]

    @property
    def items(self) -> frozenset[str]:
        """All of its items."""
        return frozenset((*self.writes, *self.reads))


@dataclass(frozen=True, slots=True)
class Channel:
    """A buffer that one role fills and another uses, handed over in ``scope``: a span of its pipeline on each side a value."""

    buffer: str
    scope: str
    producer: str
    consumer: str
    hand_offs: tuple[HandOff, ...]
    """The values of one iteration in source order; several where the buffer is filled again behind its use."""
    carried: str
    """Why only one version is right (a value lives from one iteration to the next); empty when versions are free."""
    encloses: bool = False
    """Whether the same buffer has a channel in an inner loop: then this one's depth multiplies that one's."""

    @property
    def writes(self) -> tuple[str, ...]:
        """Items of the scope in which the producer touches the buffer."""
        return tuple(item for hand_off in self.hand_offs for item in hand_off.writes)

    @property
    def reads(self) -> tuple[str, ...]:
        """Items of the scope in which the consumer touches the buffer."""
        return tuple(item for hand_off in self.hand_offs for item in hand_off.reads)

    @property
    def name(self) -> str:
        """The pipeline's name when the buffer has one of its own."""
        where = "root" if self.scope == ROOT else self.scope.lower()
        return f"{self.buffer.lower()}_in_{where}" if self.encloses else self.buffer.lower()


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


def channels_of(
    problem: WarpProblem, buffer: Buffer, placement: Mapping[str, tuple[str, ...]]
) -> tuple[Channel, ...] | Conflict:
    """The channels of a buffer that two roles touch, outermost first, or why it cannot have them.

    Empty where it stays in one role; two where the consumer uses the buffer inside a loop and, after it, the last value again:
    nested pipelines, whose depths multiply (TileLang 0.1.15 wheel, MWS:1006-1058, 1529-1571).
    """
    touching = [op for op in problem.graph.ops if buffer.name in {a.buffer for a in (*op.reads, *op.writes)}]
    writers = [op for op in touching if buffer.name in {a.buffer for a in op.writes}]
    roles = {role for op in touching for role in placement[op.id]}
    if buffer.memory in PRIVATE_MEMORIES or len(roles) < 2 or not writers:
        return ()
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
    unseen = next((op for op in using if _ends_unseen(op, buffer.name)), None)
    if unseen is not None:
        message = f"{unseen.id} fills {buffer.name} in the {consumer} role, which only uses it; no barrier sees it end"
        return Conflict("hand_offs", message, f"place {unseen.id} in the {producer} role", buffer.name)
    pairs = [(fill, use) for fill in filling for use in using if fill in writers or use in writers]
    scopes = sorted({meeting_scope(problem, *pair) for pair in pairs}, key=lambda s: (len(path_to(problem, s)), s))
    for scope in scopes:
        late = [op for op in using if _reads_older_value(problem, scope, op, buffer.name, filling)]
        if late:
            message = (
                f"{late[0].id} reads the {buffer.name} that {writers[0].id} filled an iteration of {scope} earlier; "
                "a pipeline hands over the value of the same iteration"
            )
            return Conflict("hand_offs", message, f"place {writers[0].id} in the {consumer} role", buffer.name)
    if len(scopes) > 1 and not _can_nest(problem, scopes, filling, using, writers):
        message = f"{buffer.name} changes hands in {_list(scopes)}; its pipeline can be in one scope only"
        return Conflict("hand_offs", message, "use one buffer a loop", buffer.name)
    again = next((pair for pair in pairs if not comes_first(problem, *pair)), None)
    sides = (producer, consumer, filling, using)
    made = tuple(
        _channel(problem, buffer.name, scope, scopes[level + 1 : level + 2], *sides, in_turns=again is not None)
        for level, scope in enumerate(scopes)
    )
    if again is not None and not (len(made) == 1 and _in_turns(made[0].hand_offs)):
        message = (
            f"{again[1].id} uses {buffer.name} before {again[0].id} touches it in the same iteration; "
            "a pipeline hands over a value after all of its producer's work, and each value to a use"
        )
        return Conflict("hand_offs", message, "use one buffer for each value", buffer.name)
    return made


def hand_offs(
    order: Sequence[str], fills: Collection[str], uses: Collection[str], *, in_turns: bool
) -> tuple[HandOff, ...]:
    """The values that a buffer hands over in one iteration, by items of the scope in source ``order``.

    ``fills`` and ``uses`` are the items in which producer and consumer touch it. ``in_turns``: what the producer does after a
    use begins the next value; else all is one value.
    """
    turns: list[tuple[list[str], list[str]]] = [([], [])]
    for item in order:
        if item in fills:
            if in_turns and turns[-1][1]:
                turns.append(([], []))
            turns[-1][0].append(item)
        if item in uses:
            turns[-1][1].append(item)
    return tuple(HandOff(tuple(writes), tuple(reads)) for writes, reads in turns)


def together(channels: Sequence[Channel]) -> tuple[HandOff, ...]:
    """The hand-offs of a pipeline that protects these channels' buffers: the first value of each together, and so on."""
    made = []
    for values in zip(*(channel.hand_offs for channel in channels), strict=True):
        writes = dict.fromkeys(item for value in values for item in value.writes)
        reads = dict.fromkeys(item for value in values for item in value.reads)
        made.append(HandOff(tuple(writes), tuple(reads)))
    return tuple(made)


def _in_turns(values: tuple[HandOff, ...]) -> bool:
    """Whether producer and consumer take turns, item by item, with work for both in every value."""
    return len(values) > 1 and all(v.writes and v.reads and not set(v.writes) & set(v.reads) for v in values)


def _ends_unseen(op: Op, buffer: str) -> bool:
    """Whether an operation only starts to fill a buffer, so that a barrier of its own role's must see its end (MWS:1309-1341)."""
    reads, writes = ({access.buffer for access in accesses} for accesses in (op.reads, op.writes))
    return op.issue is not Issue.BLOCKING and buffer in writes and buffer not in reads


def comes_first(problem: WarpProblem, first: Op, second: Op) -> bool:
    """Whether an operation stands before another in the source, in the innermost scope that holds both."""
    scope = meeting_scope(problem, first, second)
    items = problem.scopes[scope].items
    return items.index(item_in(problem, scope, first)) < items.index(item_in(problem, scope, second))


def _channel(
    problem: WarpProblem,
    buffer: str,
    scope: str,
    inner: list[str],
    producer: str,
    consumer: str,
    filling: list[Op],
    using: list[Op],
    *,
    in_turns: bool,
) -> Channel:
    """The channel of one scope; uses inside the scope of an inner channel are that one's."""
    here = [op for op in using if not any(x in path_to(problem, op.scope) for x in inner)]
    writes = {item_in(problem, scope, op) for op in filling if scope in path_to(problem, op.scope)}
    reads = {item_in(problem, scope, op) for op in here if scope in path_to(problem, op.scope)}
    values = hand_offs(problem.scopes[scope].items, writes, reads, in_turns=in_turns)
    return Channel(
        buffer=buffer,
        scope=scope,
        producer=producer,
        consumer=consumer,
        hand_offs=values,
        carried=loop_carried(problem, buffer, scope, [value.items for value in values]),
        encloses=bool(inner),
    )


def _can_nest(problem: WarpProblem, scopes: list[str], filling: list[Op], using: list[Op], writers: list[Op]) -> bool:
    """Whether two pipelines, one in a loop of the other's scope, hand the buffer over.

    All work of the producer is in the inner loop, which runs at least once, and the consumer only reads: outside of the loop
    it sees the version that was completed last. Siblings never can.
    """
    if len(scopes) != 2 or scopes[0] not in path_to(problem, scopes[1]):
        return False
    between = path_to(problem, scopes[1])[len(path_to(problem, scopes[0])) :]
    runs = all(problem.scopes[scope].trips for scope in between)
    inside = all(scopes[1] in path_to(problem, op.scope) for op in filling)
    return runs and inside and not any(op in writers for op in using)


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
    return _ops_of(problem, problem.scopes[scope_id].items)


def _ops_of(problem: WarpProblem, items: Sequence[str]) -> list[Op]:
    ordered: list[Op] = []
    for item in items:
        ordered += source_order(problem, item) if item in problem.scopes else [problem.ops[item]]
    return ordered


def loop_carried(problem: WarpProblem, buffer: str, scope_id: str, values: Sequence[Collection[str]] = ()) -> str:
    """Why a buffer may have one version only in this scope; empty when each value starts afresh.

    A value that lives from one iteration to the next (a read before the first whole write, a partial or guarded first
    write) would be the value of ``depth`` iterations ago in a versioned buffer. TileLang does not check it (rules 1.14.8).
    Parts that asynchronous loads fill together count as a whole. ``values`` are the items of each hand-off where an iteration
    has several: every one has a version of its own, so what one of them leaves over, the next one does not see.
    """
    if len(values) > 1:
        items = problem.scopes[scope_id].items
        within = [[item for item in items if item in value] for value in values]
        found = (_lives_on(_ops_of(problem, some), buffer, "of a span earlier", parts=False) for some in within)
        return next((reason for reason in found if reason), "")
    if problem.scopes[scope_id].kind is ScopeKind.ROOT:
        return ""
    return _lives_on(source_order(problem, scope_id), buffer, "of an iteration earlier", parts=True)


def _lives_on(ops: Sequence[Op], buffer: str, since: str, *, parts: bool) -> str:
    """Why the first of these operations that touches the buffer needs what was in it before; empty when none does.

    ``parts``: asynchronous loads of parts make a whole together.
    """
    for op in ops:
        if buffer in {access.buffer for access in op.reads}:
            return f"{op.id} reads its value {since}"
        for access in op.writes:
            if access.buffer != buffer:
                continue
            if op.guarded:
                return f"{op.id} writes it under a guard only"
            if access.whole or (parts and op.issue is Issue.ASYNCHRONOUS):
                return ""
            return f"{op.id} writes a part of it only"
    return ""


def _list(names: set[str] | list[str]) -> str:
    return " and ".join(sorted(names))
