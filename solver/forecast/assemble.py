"""Assembles a warp schedule in source order from its free choices: roles, placement, pipelines.

This is what TileLang's own schedulers emit: every operation in source order, stage 0 throughout, each pipeline opened just
before its first use in a body and closed just after its last one (0.1.15 wheel, role_based_scheduler.cc:813-896). The fences
between proxies are ours: our builds of the compiler's choices get them too.
"""

from collections.abc import Mapping, Sequence, Set

from warpwright.solver.domain import (
    ROOT,
    Instruction,
    KernelGraph,
    OpRef,
    Pipeline,
    Role,
    RoleBody,
    ScopeProgram,
    Sync,
    SyncKind,
    WarpSchedule,
)
from warpwright.solver.warp.layout.buffer_channels import HandOff
from warpwright.solver.warp.layout.instruction_order import free_after
from warpwright.solver.warp.layout.proxies import with_fences

__all__ = ["assemble", "items_touching", "ops_below"]


def ops_below(graph: KernelGraph, item: str) -> list[str]:
    """Ids of the operations of an item of a scope: itself, or everything inside a child scope."""
    if all(scope.id != item for scope in graph.scopes):
        return [item]
    return [op for child in graph.scope(item).items for op in ops_below(graph, child)]


def items_touching(graph: KernelGraph, scope: str, buffers: Sequence[str], ops: Sequence[str]) -> list[str]:
    """Items of a scope in which one of these operations touches one of these buffers, in source order."""
    wanted = {op.id for op in graph.ops if op.id in ops and any(a.buffer in buffers for a in (*op.reads, *op.writes))}
    return [item for item in graph.scope(scope).items if wanted.intersection(ops_below(graph, item))]


def assemble(
    graph: KernelGraph,
    roles: Sequence[Role],
    placement: Mapping[str, Sequence[str]],
    pipelines: Sequence[Pipeline],
    producers: Mapping[str, str],
    num_warps: int,
    homes: Mapping[str, str] | None = None,
    values: Mapping[str, Sequence[HandOff]] | None = None,
    *,
    wgmma: bool,
) -> WarpSchedule:
    """A schedule in source order.

    ``placement`` gives each operation's roles, ``producers`` each pipeline's producing role, ``homes`` its scope; without
    one it is the scope that holds the operations which fill it. ``values`` are the hand-offs of pipelines with several per
    iteration, each a span of its own. ``wgmma``: the device has warpgroup products, whose reads need no fence.

    Raises:
        GraphError: a name that the graph does not have.
    """
    home: dict[str, str] = dict(homes or {})
    for pipeline in pipelines:
        filling = [
            op
            for op in graph.ops
            if producers[pipeline.name] in placement[op.id] and any(a.buffer in pipeline.buffers for a in op.writes)
        ]
        home.setdefault(pipeline.name, filling[0].scope)
    programs = []
    for scope in _outermost_first(graph):
        bodies = []
        for role in roles:
            placed = [op.id for op in graph.ops if role.name in placement[op.id]]
            items = [item for item in graph.scope(scope).items if set(placed).intersection(ops_below(graph, item))]
            if not items:
                continue
            mine = [p for p in pipelines if home[p.name] == scope]
            # A consumer's accesses in a loop with a separate pipeline for the buffer belong to that pipeline.
            inner = {
                (p.name, item)
                for p in mine
                for item in items
                for q in pipelines
                if producers[p.name] != role.name
                and set(p.buffers) & set(q.buffers)
                and _holds(graph, item, home[q.name])
            }
            inside = [(p, values[p.name]) if values and p.name in values else (p, ()) for p in mine]
            bodies.append(RoleBody(role.name, _body(graph, scope, items, placed, inside, producers, role.name, inner)))
        programs.append(ScopeProgram(scope, tuple(bodies)))
    schedule = WarpSchedule(num_warps, tuple(roles), tuple(pipelines), tuple(programs))
    return with_fences(graph, schedule, wgmma=wgmma)


def _body(
    graph: KernelGraph,
    scope: str,
    items: Sequence[str],
    placed: Sequence[str],
    pipelines: Sequence[tuple[Pipeline, Sequence[HandOff]]],
    producers: Mapping[str, str],
    role: str,
    inner: Set[tuple[str, str]],
) -> tuple[Instruction, ...]:
    ops = {op.id: op for op in graph.ops}
    before: dict[str, list[Sync]] = {}
    after: dict[str, list[Sync]] = {}
    for pipeline, values in pipelines:
        touching = items_touching(graph, scope, pipeline.buffers, placed)
        touching = [item for item in touching if (pipeline.name, item) not in inner]
        if not touching:
            continue
        produces = producers[pipeline.name] == role
        opening = SyncKind.PRODUCER_ACQUIRE if produces else SyncKind.CONSUMER_WAIT
        closing = SyncKind.PRODUCER_COMMIT if produces else SyncKind.CONSUMER_RELEASE
        spans = [[item for item in touching if item in value.items] for value in values] or [touching]
        for span in spans:
            before.setdefault(span[0], []).append(Sync(opening, pipeline.name))
            after.setdefault(free_after(ops, items, span), []).append(Sync(closing, pipeline.name))
    result: list[Instruction] = []
    for item in items:
        result.extend(before.get(item, ()))
        result.append(OpRef(item))
        result.extend(after.get(item, ()))
    return tuple(result)


def _holds(graph: KernelGraph, item: str, scope: str) -> bool:
    """Whether a loop scope is, or is inside, this item."""
    parents = {child.id: child.parent for child in graph.scopes}
    current: str | None = scope
    while current is not None and current != item:
        current = parents[current]
    return current == item and item in parents


def _outermost_first(graph: KernelGraph) -> list[str]:
    order = [ROOT]
    for scope in order:
        order.extend(child.id for child in graph.scopes if child.parent == scope)
    return order
