"""Which role runs what: the rule, the user's pins that override it, and statements that follow their users."""

from collections.abc import Mapping, Sequence

from warpwright.solver.domain.kernel import ROOT, Memory, Op, OpKind
from warpwright.solver.domain.verdict import Conflict
from warpwright.solver.warp.layout.buffer_channels import PRIVATE_MEMORIES
from warpwright.solver.warp.problem import CONSUMER, LOAD, MMA, ROLES, STORE, WarpProblem

__all__ = ["control_needs", "leaves_the_store_open", "place", "private_needs", "private_results", "tied_to"]


def _rule(problem: WarpProblem, op: Op, staying: Mapping[str, str]) -> str | None:
    """The role that the rule gives an operation; None for statements that follow their users."""
    pinned = [pin.role for pin in problem.pins.placements if pin.op == op.id]
    if pinned:
        return pinned[0]
    if op.id in staying:
        return staying[op.id]
    if op.kind in (OpKind.TMA_LOAD, OpKind.ASYNC_LOAD):
        return LOAD
    if op.gemm is not None:
        return MMA if op.gemm.c_memory is Memory.TENSOR else CONSUMER
    if op.kind is OpKind.TMA_STORE and problem.pins.store_role:
        return STORE
    memories = {problem.graph.buffer(access.buffer).memory for access in op.writes}
    return None if op.kind is OpKind.BIND or (memories and memories <= PRIVATE_MEMORIES) else CONSUMER


def leaves_the_store_open(problem: WarpProblem) -> bool:
    """Whether the search may choose a separate role for stores: no pin decides, and a loop would become shorter."""
    stores = [op for op in problem.graph.ops if op.kind is OpKind.TMA_STORE and op.scope != ROOT]
    placed = {pin.op for pin in problem.pins.placements}
    return problem.pins.store_role is None and any(op.id not in placed for op in stores)


def place(problem: WarpProblem, staying: Mapping[str, str]) -> tuple[dict[str, tuple[str, ...]], list[Conflict]]:
    """The roles of every operation, and the contradictions in them.

    ``staying`` gives the role of loads that cannot go to the load role
    (:mod:`warpwright.solver.warp.layout.plain_copies`). Followers go where their scalars and private buffers are used,
    transitively.
    """
    ops = problem.graph.ops
    roles: dict[str, set[str]] = {op.id: {r} if (r := _rule(problem, op, staying)) else set() for op in ops}
    fixed = {op_id for op_id, where in roles.items() if where}
    producers: dict[str, list[Op]] = {}
    for op in ops:
        for name in private_results(problem, op):
            producers.setdefault(name, []).append(op)
    needs = {op.id: private_needs(problem, op) for op in ops}
    _follow(ops, roles, needs, producers, fixed)
    for op in ops:
        roles[op.id] |= set() if roles[op.id] else {CONSUMER}
    _follow(ops, roles, needs, producers, fixed)
    conflicts = []
    for op in ops:
        where = roles[op.id]
        if len(where) > 1 and not (op.replicable or op.kind is OpKind.BIND):
            message = (
                f"{op.id} writes private storage that {_list(where)} need, but it cannot run in more than one role: "
                "it touches storage of the whole block"
            )
            conflicts.append(Conflict("hand_offs", message, "place its users in one role", op.id))
            where = {CONSUMER} if CONSUMER in where else {min(where, key=ROLES.index)}
        roles[op.id] = where
    for op in ops:
        around = control_needs(problem, op.scope)
        read = {access.buffer for access in op.reads} | around
        for name in needs[op.id]:
            for source in producers.get(name, ()):
                missing = sorted(roles[op.id] - roles[source.id])
                if missing and not name.startswith("$") and name in read:
                    where_read = f"around {op.id}" if name in around else f"in {op.id}"
                    message = (
                        f"{missing[0]} reads {name} {where_read}, but {source.id} fills another role's instance of it"
                    )
                    relaxation = f"place {op.id} in {sorted(roles[source.id])[0]}"
                    conflicts.append(Conflict("hand_offs", message, relaxation, op.id))
    return {op.id: tuple(sorted(roles[op.id], key=ROLES.index)) for op in ops}, conflicts


def private_results(problem: WarpProblem, op: Op) -> set[str]:
    """Private buffers that an operation writes and, with a ``$`` in front, the scalar that it binds."""
    names = {a.buffer for a in op.writes if problem.graph.buffer(a.buffer).memory in PRIVATE_MEMORIES}
    return names | ({f"${op.binds}"} if op.binds else set())


def private_needs(problem: WarpProblem, op: Op) -> set[str]:
    """Private buffers that an operation touches and, with a ``$`` in front, the scalars that it uses.

    Its role enters the loops around it, so what controls these is needed as well.
    """
    touched = {a.buffer for a in (*op.reads, *op.writes)}
    names = {name for name in touched if problem.graph.buffer(name).memory in PRIVATE_MEMORIES}
    return names | {f"${scalar}" for scalar in op.uses_scalars} | control_needs(problem, op.scope)


def control_needs(problem: WarpProblem, scope: str) -> set[str]:
    """Private buffers and, with a ``$`` in front, scalars that control this scope and those around it."""
    names: set[str] = set()
    for around in problem.source.path_to(scope):
        names |= {
            name for name in problem.scopes[around].reads if problem.graph.buffer(name).memory in PRIVATE_MEMORIES
        }
        names |= {f"${scalar}" for scalar in problem.scopes[around].uses_scalars}
    return names


def tied_to(problem: WarpProblem, seeds: Sequence[Op]) -> frozenset[str]:
    """Operations that every legal schedule runs in the role of ``seeds`` (which are in one role), by id.

    What fills private storage or scalars that a role reads is in that role, at least. An operation on storage of the whole
    block that something fills cannot run in a second role, so whoever reads its private results is in its role, only.
    """
    ops = problem.graph.ops
    filled = {
        access.buffer
        for op in ops
        for access in op.writes
        if problem.graph.buffer(access.buffer).memory not in PRIVATE_MEMORIES
    }
    alone = {op.id for op in seeds if filled & _touched(op)}
    there = {op.id for op in seeds}
    while True:
        needed = {name for op in ops if op.id in there for name in private_needs(problem, op)}
        made = {name for op in ops if op.id in alone for name in private_results(problem, op) if name[0] != "$"}
        more = {op.id for op in ops if private_results(problem, op) & needed}
        using = {op.id for op in ops if made & {access.buffer for access in op.reads}}
        found = there | more | using
        only = alone | using | {op.id for op in ops if op.id in found and filled & _touched(op)}
        if found == there and only == alone:
            return frozenset(there)
        there, alone = found, only


def _touched(op: Op) -> set[str]:
    return {access.buffer for access in (*op.reads, *op.writes)}


def _follow(
    ops: Sequence[Op],
    roles: Mapping[str, set[str]],
    needs: Mapping[str, set[str]],
    producers: Mapping[str, list[Op]],
    fixed: set[str],
) -> None:
    """Gives every operation that is not fixed the roles of those that need its results, directly or indirectly."""
    changed = True
    while changed:
        changed = False
        for op in ops:
            for source in (source for name in needs[op.id] for source in producers.get(name, ())):
                if source.id not in fixed and not roles[op.id] <= roles[source.id]:
                    roles[source.id] |= roles[op.id]
                    changed = True


def _list(roles: set[str]) -> str:
    return " and ".join(sorted(roles))
