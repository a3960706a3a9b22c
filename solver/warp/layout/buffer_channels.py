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
    "hand_offs",
    "together",
]

PROTECTED_MEMORIES = frozenset({Memory.SHARED, Memory.TENSOR})
"""Memories that a pipeline can protect: storage of the whole block (TileLang 0.1.15 wheel, MWS:624-630)."""
PRIVATE_MEMORIES = frozenset({Memory.FRAGMENT, Memory.LOCAL})


@dataclass(frozen=True, slots=True)
class HandOff:
    """One value that is handed over: the items of a scope (operations or child loops) that fill it and those that
    use it, in source order.
    """

    writes: tuple[str, ...]
    reads: tuple[str, ...]

    @property
    def items(self) -> frozenset[str]:
        """All its items."""
        return frozenset((*self.writes, *self.reads))


@dataclass(frozen=True, slots=True)
class Channel:
    """A buffer that one role fills and another uses, handed over in ``scope``: one span of its pipeline on each side
    per value.
    """

    buffer: str
    scope: str
    producer: str
    consumer: str
    hand_offs: tuple[HandOff, ...]
    """The values of one iteration in source order; several if the buffer is filled again after its use."""
    carried: str
    """Why only one version is correct (a value lives from one iteration to the next); empty if versions are free."""
    encloses: bool = False
    """Whether the same buffer has a channel in an inner loop: then the two depths multiply."""

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
        """The pipeline's name if the buffer has its own."""
        where = "root" if self.scope == ROOT else self.scope.lower()
        return f"{self.buffer.lower()}_in_{where}" if self.encloses else self.buffer.lower()


@dataclass(frozen=True, slots=True)
class _Sides:
    """The two roles that touch a buffer, and their operations on it in source order."""

    buffer: str
    producer: str
    consumer: str
    writers: list[Op]
    filling: list[Op]
    """The producer's operations on the buffer."""
    using: list[Op]
    """The consumer's operations on it, possibly writes, too."""

    @property
    def pairs(self) -> list[tuple[Op, Op]]:
        """Pairs of operations of the two roles of which at least one writes: what the buffer hands over."""
        return [
            (fill, use) for fill in self.filling for use in self.using if fill in self.writers or use in self.writers
        ]


def channels_of(
    problem: WarpProblem, buffer: Buffer, placement: Mapping[str, tuple[str, ...]]
) -> tuple[Channel, ...] | Conflict:
    """The channels of a buffer that two roles touch, outermost first, or why it cannot have them.

    Empty if it stays in one role; two if the consumer uses the buffer inside a loop and, after it, the last value again:
    nested pipelines, whose depths multiply (TileLang 0.1.15 wheel, MWS:1006-1058, 1529-1571).
    """
    sides = _sides_of(problem, buffer, placement)
    if sides is None:
        return ()
    if isinstance(sides, Conflict):
        return sides
    scopes = _scopes_of(problem, sides)
    conflict = (
        _completion_unseen(sides)
        or _value_of_an_earlier_iteration(problem, sides, scopes)
        or _several_scopes(problem, sides, scopes)
    )
    return conflict or _channels(problem, sides, scopes)


def _sides_of(
    problem: WarpProblem, buffer: Buffer, placement: Mapping[str, tuple[str, ...]]
) -> _Sides | Conflict | None:
    """Producer and consumer of a buffer; None if it does not change hands, a conflict if no two roles can share it."""
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
    return _Sides(
        buffer=buffer.name,
        producer=producer,
        consumer=consumer,
        writers=writers,
        filling=[op for op in touching if producer in placement[op.id]],
        using=[op for op in touching if consumer in placement[op.id]],
    )


def _scopes_of(problem: WarpProblem, sides: _Sides) -> list[str]:
    """Scopes in which the buffer changes hands, outermost first."""
    met = {problem.source.meeting_scope(*pair) for pair in sides.pairs}
    return sorted(met, key=lambda scope: (len(problem.source.path_to(scope)), scope))


def _completion_unseen(sides: _Sides) -> Conflict | None:
    """Why the consumer cannot do part of the filling: an operation that it only starts and that no barrier of its
    role waits for.
    """
    unseen = next((op for op in sides.using if _ends_unseen(op, sides.buffer)), None)
    if unseen is None:
        return None
    message = (
        f"{unseen.id} fills {sides.buffer} in the {sides.consumer} role, which only uses it; "
        "no barrier waits for its completion"
    )
    return Conflict("hand_offs", message, f"place {unseen.id} in the {sides.producer} role", sides.buffer)


def _value_of_an_earlier_iteration(problem: WarpProblem, sides: _Sides, scopes: Sequence[str]) -> Conflict | None:
    """Why a pipeline cannot hand the buffer over: an operation needs the value of an iteration before."""
    for scope in scopes:
        late = next((op for op in sides.using if _reads_older_value(problem, scope, op, sides)), None)
        if late is not None:
            message = (
                f"{late.id} reads the {sides.buffer} that {sides.writers[0].id} filled an iteration of {scope} earlier; "
                "a pipeline hands over the value of the same iteration"
            )
            return Conflict(
                "hand_offs", message, f"place {sides.writers[0].id} in the {sides.consumer} role", sides.buffer
            )
    return None


def _several_scopes(problem: WarpProblem, sides: _Sides, scopes: Sequence[str]) -> Conflict | None:
    """Why one buffer cannot change hands in these scopes; None for one scope, and for two nested ones."""
    if len(scopes) < 2 or _can_nest(problem, scopes, sides):
        return None
    message = f"{sides.buffer} changes hands in {_list(scopes)}; its pipeline can be in one scope only"
    return Conflict("hand_offs", message, "use one buffer per loop", sides.buffer)


def _channels(problem: WarpProblem, sides: _Sides, scopes: Sequence[str]) -> tuple[Channel, ...] | Conflict:
    """A channel for each scope; a conflict if a value is used before its producer's work on it has ended."""
    again = next((pair for pair in sides.pairs if not problem.source.comes_first(*pair)), None)
    made = tuple(
        _channel(problem, sides, scope, scopes[level + 1 : level + 2], in_turns=again is not None)
        for level, scope in enumerate(scopes)
    )
    if again is None or (len(made) == 1 and _in_turns(made[0].hand_offs)):
        return made
    message = (
        f"{again[1].id} uses {sides.buffer} before {again[0].id} touches it in the same iteration; "
        "a pipeline hands over a value after all of its producer's work, and each value once"
    )
    return Conflict("hand_offs", message, "use one buffer for each value", sides.buffer)


def hand_offs(
    order: Sequence[str], fills: Collection[str], uses: Collection[str], *, in_turns: bool
) -> tuple[HandOff, ...]:
    """The values that a buffer hands over in one iteration, by items of the scope in source ``order``.

    ``fills`` and ``uses`` are the items in which producer and consumer touch it. ``in_turns``: what the producer does after a
    use begins the next value; otherwise everything is one value.
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
    """The hand-offs of a pipeline that protects these channels' buffers: the first values of all together, and so on."""
    made = []
    for values in zip(*(channel.hand_offs for channel in channels), strict=True):
        writes = dict.fromkeys(item for value in values for item in value.writes)
        reads = dict.fromkeys(item for value in values for item in value.reads)
        made.append(HandOff(tuple(writes), tuple(reads)))
    return tuple(made)


def _in_turns(values: tuple[HandOff, ...]) -> bool:
    """Whether producer and consumer alternate, item by item, and both work on every value."""
    return len(values) > 1 and all(v.writes and v.reads and not set(v.writes) & set(v.reads) for v in values)


def _ends_unseen(op: Op, buffer: str) -> bool:
    """Whether an operation only starts to fill a buffer, so that a barrier of its own role must wait for its
    completion (MWS:1309-1341).
    """
    reads, writes = ({access.buffer for access in accesses} for accesses in (op.reads, op.writes))
    # A product that adds to its result is waited for before the release, or arrives itself; a load never is.
    seen = op.gemm is not None and buffer in reads
    return op.issue is not Issue.BLOCKING and buffer in writes and not seen


def _channel(problem: WarpProblem, sides: _Sides, scope: str, inner: Sequence[str], *, in_turns: bool) -> Channel:
    """The channel of one scope; uses inside the scope of an inner channel belong to that one."""
    here = [op for op in sides.using if not any(x in problem.source.path_to(op.scope) for x in inner)]
    writes = {problem.source.item_in(scope, op) for op in sides.filling if scope in problem.source.path_to(op.scope)}
    reads = {problem.source.item_in(scope, op) for op in here if scope in problem.source.path_to(op.scope)}
    values = hand_offs(problem.scopes[scope].items, writes, reads, in_turns=in_turns)
    return Channel(
        buffer=sides.buffer,
        scope=scope,
        producer=sides.producer,
        consumer=sides.consumer,
        hand_offs=values,
        carried=problem.source.loop_carried(sides.buffer, scope, [value.items for value in values]),
        encloses=bool(inner),
    )


def _can_nest(problem: WarpProblem, scopes: Sequence[str], sides: _Sides) -> bool:
    """Whether two pipelines, one in a loop of the other's scope, hand the buffer over.

    All work of the producer is in the inner loop, which runs at least once, and the consumer only reads: outside the loop
    it sees the version that was completed last. Sibling loops cannot nest.
    """
    if len(scopes) != 2 or scopes[0] not in problem.source.path_to(scopes[1]):
        return False
    between = problem.source.path_to(scopes[1])[len(problem.source.path_to(scopes[0])) :]
    runs = all(problem.scopes[scope].trips for scope in between)
    inside = all(scopes[1] in problem.source.path_to(op.scope) for op in sides.filling)
    return runs and inside and not any(op in sides.writers for op in sides.using)


def _reads_older_value(problem: WarpProblem, scope: str, op: Op, sides: _Sides) -> bool:
    """Whether the operation is before every write of the buffer in this scope, so that it reads an older value."""
    if problem.scopes[scope].kind is ScopeKind.ROOT:
        return False
    order = [other.id for other in problem.source.below(scope)]
    if op.id not in order:
        return False
    inside = [order.index(fill.id) for fill in sides.filling if fill.id in order]
    reads = sides.buffer in {access.buffer for access in op.reads}
    return reads and bool(inside) and order.index(op.id) < min(inside)


def _list(names: Collection[str]) -> str:
    return " and ".join(sorted(names))
