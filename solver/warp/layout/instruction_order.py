"""Which items of one role's body must keep their order, and why.

Dependences inside one role's stream come from the graph. Those through a buffer that a pipeline of the same scope protects
hold only inside an iteration: across iterations the pipeline hands over its versions. Waits order operations in flight.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from warpwright.solver.domain.kernel import ROOT, Op, OpKind
from warpwright.solver.warp.problem import WarpProblem

__all__ = ["Ordering", "Placed", "free_after", "orderings", "still_used", "wait_behind"]


@dataclass(frozen=True, slots=True)
class Ordering:
    """``first`` of iteration i comes before ``second`` of iteration i + distance in the role's stream."""

    first: str
    second: str
    distance: int
    why: str
    waits_for_result: bool = False


class Placed(Protocol):
    """What the rules need to know about a placement, during or after the search."""

    @property
    def placement(self) -> Mapping[str, tuple[str, ...]]:
        """Roles of each operation."""
        ...

    def body(self, scope: str, role: str) -> tuple[str, ...]:
        """Items of a role's body, in source order."""
        ...

    def protected(self, scope: str) -> frozenset[str]:
        """Buffers that a pipeline of this scope protects."""
        ...


def orderings(problem: WarpProblem, placed: Placed, scope: str, role: str) -> tuple[Ordering, ...]:
    """All orderings that bind one role's body in one scope."""
    items = placed.body(scope, role)
    inside, protected = set(items), placed.protected(scope)
    found = []
    for dependence in problem.graph.dependences:
        if dependence.scope != scope or dependence.source == dependence.target:
            continue
        if dependence.source not in inside or dependence.target not in inside:
            continue
        if dependence.buffer in protected and dependence.distance > 0:
            continue
        pair = (dependence.source, dependence.target)
        if not all(_touches(problem, placed, item, role, dependence.buffer) for item in pair):
            continue
        why = f"{dependence.hazard.value} on {dependence.buffer}"
        late = _in_flight(problem, dependence.source) is not None and problem.ops.get(dependence.target) is not None
        late = late and problem.ops[dependence.target].kind is OpKind.WAIT
        found.append(Ordering(*pair, dependence.distance, why, late))
    found += _scalars(problem, items)
    found += _waits(problem, items)
    return tuple(dict.fromkeys(found))


def _touches(problem: WarpProblem, placed: Placed, item: str, role: str, buffer: str) -> bool:
    if item in problem.ops:
        return True
    inside = [
        scope
        for scope in problem.graph.scopes
        if item in problem.source.path_to(scope.id) and placed.body(scope.id, role)
    ]
    return any(buffer in scope.reads for scope in inside) or any(
        role in placed.placement.get(op.id, ())
        and buffer in {access.buffer for access in (*op.reads, *op.writes)}
        and item in problem.source.path_to(op.scope)
        for op in problem.graph.ops
    )


def _in_flight(problem: WarpProblem, item: str) -> Op | None:
    op = problem.ops.get(item)
    return op if op is not None and op.left_in_flight else None


def wait_behind(ops: Mapping[str, Op], items: Sequence[str], item: str) -> str | None:
    """The first wait after an item in a role's body that guarantees the end of a product started there.

    A wait that leaves ``pending`` products in flight ends all but the youngest: that many others must have been started
    since. Operations that a guard or an inner loop may skip count neither as waits nor as started.
    """
    younger = 0
    for other in items[items.index(item) + 1 :]:
        op = ops.get(other)
        if op is None or op.guarded:
            continue
        if op.kind is OpKind.WAIT and op.pending <= younger:
            return other
        younger += op.left_in_flight
    return None


def still_used(problem: WarpProblem, product: Op, other: Op) -> str:
    """The buffer that a product into tensor memory may still use when its own role comes to ``other``; empty if there is none.

    Such a product's end is seen through the barrier of a pipeline only, and its own role waits on none. So outside of pipelines
    no other operation of that role may overwrite its operands or use its result later, in the same or the next iteration.
    """
    if not product.arrives_itself or other.arrives_itself:
        return ""
    again = problem.source.meeting_scope(product, other) != ROOT
    if not again and not problem.source.comes_first(product, other):
        return ""
    filled = {access.buffer for access in other.writes}
    used = filled | {access.buffer for access in other.reads}
    shared = [access.buffer for access in product.reads if access.buffer in filled]
    shared += [access.buffer for access in product.writes if access.buffer in used]
    return next(iter(shared), "")


def free_after(ops: Mapping[str, Op], items: Sequence[str], touching: Sequence[str]) -> str:
    """The item of a role's body after which buffers are free: the last one that touches them, or the wait for a
    product in flight.
    """
    waits = [wait_behind(ops, items, item) for item in touching if item in ops and ops[item].left_in_flight]
    return max((*touching, *(wait for wait in waits if wait is not None)), key=items.index)


def _scalars(problem: WarpProblem, items: tuple[str, ...]) -> list[Ordering]:
    binding = {problem.ops[item].binds: item for item in items if item in problem.ops and problem.ops[item].binds}
    return [
        Ordering(binding[scalar], item, 0, f"it uses {scalar}")
        for item in items
        for scalar in _scalars_used(problem, item)
        if scalar in binding and binding[scalar] != item
    ]


def _scalars_used(problem: WarpProblem, item: str) -> tuple[str, ...]:
    """Scalars that an operation uses, or a loop with all that is in it."""
    if item in problem.ops:
        return problem.ops[item].uses_scalars
    scope = problem.scopes[item]
    return (*scope.uses_scalars, *(name for inner in scope.items for name in _scalars_used(problem, inner)))


def _waits(problem: WarpProblem, items: tuple[str, ...]) -> list[Ordering]:
    """An asynchronous product comes before its wait, and users of its result after it; what a wait counts keeps its order."""
    found = []
    for item in items:
        op, wait = _in_flight(problem, item), wait_behind(problem.ops, items, item)
        if op is None or wait is None:
            continue
        found.append(Ordering(item, wait, 0, "its wait", waits_for_result=True))
        for younger in items[items.index(item) + 1 : items.index(wait)] if problem.ops[wait].pending else ():
            if _in_flight(problem, younger) is not None:
                found.append(Ordering(item, younger, 0, f"{wait} counts the most recently started products"))
                found.append(Ordering(younger, wait, 0, f"{wait} counts the most recently started products"))
        results = {access.buffer for access in op.writes}
        for user in items[items.index(wait) + 1 :]:
            other = problem.ops.get(user)
            if other is not None and results & {access.buffer for access in (*other.reads, *other.writes)}:
                found.append(Ordering(wait, user, 0, f"the result of {item}"))
    return found
