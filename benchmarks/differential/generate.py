"""Random schedules: mutations of a legal one, and structured noise. Pure and seeded, so that every case can be made again."""

import random
from collections.abc import Callable, Iterator
from dataclasses import replace

from warpwright.solver.domain import (
    ROOT,
    Instruction,
    KernelGraph,
    Memory,
    Op,
    OpRef,
    Pipeline,
    Role,
    RoleBody,
    ScopeProgram,
    Sync,
    SyncKind,
    WarpSchedule,
)

__all__ = ["mutations", "noise"]

_DEPTHS = (0, 1, 1, 2, 2, 3, 3, 4, 5, 8)
_REGISTERS = (0, 0, 24, 40, 128, 160, 200, 232, 240, 248, 256, 264, 33)
_STAGES = (-1, 0, 0, 1, 1, 2)


def mutations(graph: KernelGraph, legal: WarpSchedule, seed: int) -> Iterator[WarpSchedule]:
    """Endless mutations of a legal schedule, one to three changes each; some leave it legal."""
    rng = random.Random(seed)
    while True:
        schedule = legal
        for _ in range(rng.choice((1, 1, 1, 2, 2, 3))):
            schedule = rng.choice(_MUTATORS)(rng, graph, schedule)
        yield schedule


def noise(graph: KernelGraph, seed: int) -> Iterator[WarpSchedule]:
    """Endless random schedules: random roles, every operation placed, random pipelines with brackets around their uses."""
    rng = random.Random(seed)
    while True:
        yield _random_schedule(rng, graph)


def _with_body(schedule: WarpSchedule, scope: str, role: str, instructions: tuple[Instruction, ...]) -> WarpSchedule:
    """The schedule with one body replaced; an empty one is left out, a new one is added."""
    programs = []
    for program in schedule.scopes:
        if program.scope == scope:
            bodies = [body for body in program.bodies if body.role != role]
            if instructions:
                bodies.append(RoleBody(role, instructions))
            program = ScopeProgram(scope, tuple(bodies))
        programs.append(program)
    return replace(schedule, scopes=tuple(programs))


def _pick_body(rng: random.Random, schedule: WarpSchedule) -> tuple[str, str, list[Instruction]]:
    places = [(p.scope, b.role, list(b.instructions)) for p in schedule.scopes for b in p.bodies if b.instructions]
    return rng.choice(places) if places else (ROOT, schedule.roles[0].name, [])


def _swap(rng: random.Random, graph: KernelGraph, schedule: WarpSchedule) -> WarpSchedule:
    scope, role, items = _pick_body(rng, schedule)
    if len(items) > 1:
        first = rng.randrange(len(items) - 1)
        second = first + 1 if rng.random() < 0.6 else rng.randrange(len(items))
        items[first], items[second] = items[second], items[first]
    return _with_body(schedule, scope, role, tuple(items))


def _drop(rng: random.Random, graph: KernelGraph, schedule: WarpSchedule) -> WarpSchedule:
    scope, role, items = _pick_body(rng, schedule)
    if items:
        items.pop(rng.randrange(len(items)))
    return _with_body(schedule, scope, role, tuple(items))


def _repeat(rng: random.Random, graph: KernelGraph, schedule: WarpSchedule) -> WarpSchedule:
    scope, role, items = _pick_body(rng, schedule)
    if items:
        items.insert(rng.randrange(len(items) + 1), rng.choice(items))
    return _with_body(schedule, scope, role, tuple(items))


def _stage(rng: random.Random, graph: KernelGraph, schedule: WarpSchedule) -> WarpSchedule:
    """Shift one pipeline of one body to another stage, both entries of the pair or only one."""
    scope, role, items = _pick_body(rng, schedule)
    pipelines = sorted({item.pipeline for item in items if isinstance(item, Sync)})
    if not pipelines:
        return schedule
    pipeline, stage, both = rng.choice(pipelines), rng.choice(_STAGES), rng.random() < 0.85
    for index, item in enumerate(items):
        if isinstance(item, Sync) and item.pipeline == pipeline:
            items[index] = replace(item, stage=stage)
            if not both:
                break
    return _with_body(schedule, scope, role, tuple(items))


def _depth(rng: random.Random, graph: KernelGraph, schedule: WarpSchedule) -> WarpSchedule:
    if not schedule.pipelines:
        return schedule
    index = rng.randrange(len(schedule.pipelines))
    pipelines = list(schedule.pipelines)
    pipelines[index] = replace(pipelines[index], depth=rng.choice(_DEPTHS))
    return replace(schedule, pipelines=tuple(pipelines))


def _warps(rng: random.Random, graph: KernelGraph, schedule: WarpSchedule) -> WarpSchedule:
    roles = list(schedule.roles)
    index = rng.randrange(len(roles))
    lo, hi = roles[index].warps_lo, roles[index].warps_hi
    change = rng.choice((-4, -1, 1, 4))
    side = rng.randrange(3)
    roles[index] = replace(roles[index], warps_lo=lo + change * (side != 1), warps_hi=hi + change * (side != 0))
    total = schedule.num_warps + rng.choice((0, 0, 0, 4, -4, 1, 20))
    return replace(schedule, num_warps=total, roles=tuple(roles))


def _registers(rng: random.Random, graph: KernelGraph, schedule: WarpSchedule) -> WarpSchedule:
    roles = list(schedule.roles)
    index = rng.randrange(len(roles))
    roles[index] = replace(roles[index], registers_per_thread=rng.choice(_REGISTERS))
    return replace(schedule, roles=tuple(roles))


def _place(rng: random.Random, graph: KernelGraph, schedule: WarpSchedule) -> WarpSchedule:
    """Give an operation to another role, or to one more role."""
    scope, role, items = _pick_body(rng, schedule)
    ops = [item for item in items if isinstance(item, OpRef)]
    if not ops:
        return schedule
    op, other = rng.choice(ops), rng.choice(schedule.roles).name
    if rng.random() < 0.6:
        schedule = _with_body(schedule, scope, role, tuple(item for item in items if item != op))
    target = next((list(p.body(other)) for p in schedule.scopes if p.scope == scope), [])
    target.insert(rng.randrange(len(target) + 1), op)
    return _with_body(schedule, scope, other, tuple(target))


def _sync(rng: random.Random, graph: KernelGraph, schedule: WarpSchedule) -> WarpSchedule:
    """Change a synchronisation's kind or pipeline, or add one."""
    scope, role, items = _pick_body(rng, schedule)
    names = [pipeline.name for pipeline in schedule.pipelines] or ["none"]
    fresh = Sync(rng.choice(list(SyncKind)), rng.choice(names), rng.choice((0, 0, 0, 1)))
    positions = [index for index, item in enumerate(items) if isinstance(item, Sync)]
    if positions and rng.random() < 0.7:
        index = rng.choice(positions)
        old = items[index]
        assert isinstance(old, Sync)
        items[index] = replace(old, sync=fresh.sync) if rng.random() < 0.5 else replace(old, pipeline=fresh.pipeline)
    else:
        items.insert(rng.randrange(len(items) + 1), fresh)
    return _with_body(schedule, scope, role, tuple(items))


def _cycle(rng: random.Random, graph: KernelGraph, schedule: WarpSchedule) -> WarpSchedule:
    """Close and reopen a span in the middle: a pipeline that cycles twice per body."""
    scope, role, items = _pick_body(rng, schedule)
    opens = {SyncKind.PRODUCER_ACQUIRE: SyncKind.PRODUCER_COMMIT, SyncKind.CONSUMER_WAIT: SyncKind.CONSUMER_RELEASE}
    starts = [i for i, item in enumerate(items) if isinstance(item, Sync) and item.sync in opens]
    if not starts:
        return schedule
    start = rng.choice(starts)
    first = items[start]
    assert isinstance(first, Sync)
    middle = [replace(first, sync=opens[first.sync]), first]
    where = rng.randrange(start + 1, len(items) + 1)
    return _with_body(schedule, scope, role, (*items[:where], *middle, *items[where:]))


def _buffers(rng: random.Random, graph: KernelGraph, schedule: WarpSchedule) -> WarpSchedule:
    """Move a buffer into, out of, or between pipelines."""
    if not schedule.pipelines:
        return schedule
    pipelines = list(schedule.pipelines)
    index = rng.randrange(len(pipelines))
    kinds = (Memory.SHARED, Memory.SHARED, Memory.SHARED, Memory.FRAGMENT)
    wanted = rng.choice(kinds)
    candidates = [buffer.name for buffer in graph.buffers if buffer.memory is wanted] or ["none"]
    buffers = list(pipelines[index].buffers)
    if buffers and rng.random() < 0.5:
        buffers.remove(rng.choice(buffers))
    else:
        buffers.append(rng.choice(candidates))
    pipelines[index] = replace(pipelines[index], buffers=tuple(buffers))
    return replace(schedule, pipelines=tuple(pipelines))


def _split(rng: random.Random, graph: KernelGraph, schedule: WarpSchedule) -> WarpSchedule:
    """One pipeline of several buffers becomes one per buffer, each bracketed where the old one was."""
    wide = [pipeline for pipeline in schedule.pipelines if len(pipeline.buffers) > 1]
    if not wide:
        return schedule
    old = rng.choice(wide)
    parts = [Pipeline(f"{old.name}_{buffer}", (buffer,), old.depth) for buffer in old.buffers]
    pipelines = [pipeline for pipeline in schedule.pipelines if pipeline is not old] + parts
    programs = []
    for program in schedule.scopes:
        bodies = []
        for body in program.bodies:
            items: list[Instruction] = []
            for item in body.instructions:
                split = isinstance(item, Sync) and item.pipeline == old.name
                items += (
                    [replace(item, pipeline=part.name) for part in parts]
                    if isinstance(item, Sync) and split
                    else [item]
                )
            bodies.append(RoleBody(body.role, tuple(items)))
        programs.append(ScopeProgram(program.scope, tuple(bodies)))
    return replace(schedule, pipelines=tuple(pipelines), scopes=tuple(programs))


_MUTATORS: tuple[Callable[[random.Random, KernelGraph, WarpSchedule], WarpSchedule], ...] = (
    *(_swap, _swap, _drop, _repeat, _stage, _stage, _depth, _depth, _warps, _registers),
    *(_place, _place, _sync, _cycle, _buffers, _split),
)


def _random_schedule(rng: random.Random, graph: KernelGraph) -> WarpSchedule:
    roles = _random_roles(rng)
    shared = [buffer.name for buffer in graph.buffers if buffer.memory is Memory.SHARED]
    owner = _random_owners(rng, graph, roles, shared)
    pipelines = _random_pipelines(rng, shared)
    programs = [
        ScopeProgram(scope.id, _random_bodies(rng, graph, scope.id, owner, roles, pipelines)) for scope in graph.scopes
    ]
    warps = max(role.warps_hi for role in roles)
    return WarpSchedule(-(-warps // 4) * 4, tuple(roles), tuple(pipelines), tuple(p for p in programs if p.bodies))


def _random_roles(rng: random.Random) -> list[Role]:
    roles, at = [], rng.choice((0, 0, 0, 1, 4))
    equal = rng.random() < 0.6
    for name in ("consumer", "load", "store")[: rng.choice((1, 2, 2, 2, 3))]:
        width = rng.choice((1, 1, 4, 4, 8, 8, 12, 5))
        registers = 0 if equal else rng.choice(_REGISTERS)
        roles.append(Role(name, at, at + width, registers))
        at += width if rng.random() < 0.5 else -(-width // 4) * 4
    return roles


def _random_owners(
    rng: random.Random, graph: KernelGraph, roles: list[Role], shared: list[str]
) -> dict[str, list[str]]:
    """Operation id -> roles that place it: scalar code by all, loads mostly by one role, the rest mostly by the first."""
    owners: dict[str, list[str]] = {}
    names = [role.name for role in roles]
    for op in graph.ops:
        touches = {access.buffer for access in (*op.reads, *op.writes)}
        if op.replicable and not touches & set(shared) and rng.random() < 0.7:
            owners[op.id] = names if op.binds or rng.random() < 0.4 else [names[0]]
        elif op.writes and op.writes[0].buffer in shared and op.kind.value.endswith("load"):
            owners[op.id] = [names[1 % len(names)] if rng.random() < 0.85 else rng.choice(names)]
        elif op.kind.value == "tma_store" and rng.random() < 0.7:
            owners[op.id] = [names[-1]]
        else:
            owners[op.id] = [names[0] if rng.random() < 0.9 else rng.choice(names)]
    return owners


def _random_pipelines(rng: random.Random, shared: list[str]) -> list[Pipeline]:
    remaining = [name for name in shared if rng.random() < 0.9]
    rng.shuffle(remaining)
    pipelines = []
    while remaining:
        count = min(len(remaining), rng.choice((1, 1, 2)))
        taken, remaining = remaining[:count], remaining[count:]
        pipelines.append(Pipeline("_".join(taken).lower(), tuple(taken), rng.choice((1, 1, 2, 2, 3))))
    return pipelines


def _random_bodies(
    rng: random.Random,
    graph: KernelGraph,
    scope_id: str,
    owner: dict[str, list[str]],
    roles: list[Role],
    pipelines: list[Pipeline],
) -> tuple[RoleBody, ...]:
    """The scope's items by role in source order, with the brackets of the pipelines that belong to the scope."""
    bodies = []
    for role in roles:
        items: list[Instruction] = [
            OpRef(item)
            for item in graph.scope(scope_id).items
            if any(role.name in owner[op] for op in _ops_below(graph, item))
        ]
        for pipeline in pipelines:
            home = _home(graph, pipeline)
            if home == scope_id if rng.random() < 0.97 else rng.random() < 0.5:
                items = _bracketed(rng, graph, scope_id, items, role.name, owner, pipeline)
        if items:
            bodies.append(RoleBody(role.name, tuple(items)))
    return tuple(bodies)


def _home(graph: KernelGraph, pipeline: Pipeline) -> str:
    """The innermost scope that holds every use of the pipeline's buffers."""
    chains = [_chain(graph, op.scope) for op in graph.ops if _touches(op, pipeline)]
    if not chains:
        return ROOT
    return next(scope for scope in chains[0] if all(scope in chain for chain in chains))


def _chain(graph: KernelGraph, scope_id: str) -> list[str]:
    """The scope and those around it, outermost last."""
    chain = list[str]()
    at: str | None = scope_id
    while at is not None:
        chain.append(at)
        at = graph.scope(at).parent
    return chain


def _touches(op: Op, pipeline: Pipeline) -> bool:
    return any(access.buffer in pipeline.buffers for access in (*op.reads, *op.writes))


def _ops_below(graph: KernelGraph, item: str) -> list[str]:
    """The operations of an item: itself, or all in a child scope."""
    if item not in {scope.id for scope in graph.scopes}:
        return [item]
    return [op for inner in graph.scope(item).items for op in _ops_below(graph, inner)]


def _bracketed(
    rng: random.Random,
    graph: KernelGraph,
    scope_id: str,
    items: list[Instruction],
    role: str,
    owner: dict[str, list[str]],
    pipeline: Pipeline,
) -> list[Instruction]:
    ops = {op.id: op for op in graph.ops}
    uses, writes = [], False
    for index, item in enumerate(items):
        below = [ops[op] for op in _ops_below(graph, item.id) if role in owner[op]] if isinstance(item, OpRef) else []
        if any(_touches(op, pipeline) for op in below):
            uses.append(index)
            writes = writes or any(access.buffer in pipeline.buffers for op in below for access in op.writes)
    if not uses or rng.random() < 0.05:
        return items
    opening, closing = (
        (SyncKind.PRODUCER_ACQUIRE, SyncKind.PRODUCER_COMMIT)
        if writes
        else (SyncKind.CONSUMER_WAIT, SyncKind.CONSUMER_RELEASE)
    )
    stage = rng.choice((0, 0, 0, 0, 0, 1)) if scope_id != ROOT else 0
    first, last = uses[0], uses[-1]
    return [
        *items[:first],
        Sync(opening, pipeline.name, stage),
        *items[first : last + 1],
        Sync(closing, pipeline.name, stage),
        *items[last + 1 :],
    ]
