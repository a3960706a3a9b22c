"""TileLang's own three choices for a kernel, as schedules to simulate: default, role_based, and no specialisation at all.

What they choose was read from the 0.1.15 wheel: ``producer_consumer_ws.cc`` and ``annotate_warp_group_reg_alloc.cc`` (a
producer warpgroup in front, 24 registers for it and 240, 160 or nothing for the consumers, tiles of one matrix product
behind one barrier), ``auto_schedule/role_based_scheduler.cc`` (one-warp load and store roles behind the workers, a pipeline
a buffer, registers from a guess of the blocks on an SM).
"""

from math import prod

from warpwright.solver.device.limits import WARP_THREADS, WARPGROUP
from warpwright.solver.device.machine import Machine, machine
from warpwright.solver.device.operation_costs import OperationCosts
from warpwright.solver.domain import (
    ROOT,
    BaselineKind,
    CandidateKind,
    HardwareProfile,
    KernelGraph,
    Memory,
    OpKind,
    Pipeline,
    Role,
    WarpSchedule,
)
from warpwright.solver.forecast import unspecialised
from warpwright.solver.forecast.assemble import assemble
from warpwright.solver.forecast.loops import loops_of
from warpwright.solver.forecast.result import Simulation
from warpwright.solver.forecast.simulator import PlayableKernel, iterations, play, simulate

__all__ = ["baseline_schedule", "chosen_schedule", "forecast_baseline"]

LOAD_REGISTERS = 24
DEFAULT_CONSUMER_REGISTERS = {1: 240, 2: 240, 3: 160}
"""Consumer registers of the default pass by consumer warpgroups (annotate_warp_group_reg_alloc.cc:250-335)."""


def baseline_schedule(graph: KernelGraph, profile: HardwareProfile, kind: BaselineKind) -> WarpSchedule | None:
    """The schedule that TileLang chooses by itself, or None if it specialises nothing.

    None for ``unspecialized``, for devices without TMA, and for kernels without a pipelined loop that loads.
    """
    loads = [op for op in graph.ops if op.kind is OpKind.TMA_LOAD]
    pipelined = any(scope.num_stages >= 1 for scope in graph.scopes if any(op.scope == scope.id for op in loads))
    if kind is CandidateKind.UNSPECIALIZED or not profile.flag("features.tma") or not loads:
        return None
    wgmma = profile.flag("features.wgmma")
    if kind is CandidateKind.DEFAULT:
        return _default(graph, wgmma=wgmma) if pipelined else None
    return _role_based(graph, machine(profile), wgmma=wgmma) if graph.threads % 128 == 0 else None


def forecast_baseline(graph: KernelGraph, profile: HardwareProfile, kind: BaselineKind) -> Simulation:
    """Forecast of one of TileLang's own choices.

    Raises:
        ProfileError: the profile describes no CUDA device.
    """
    chosen = chosen_schedule(graph, profile, kind)
    if chosen is not None:
        return chosen[1]
    device = machine(profile)
    versions = _versions(graph)
    ahead = max(versions.values(), default=1)
    loops = loops_of(graph, device.sms, iterations(ahead))
    registers = unspecialised.registers_of(graph, device)
    costs = OperationCosts(graph, device)
    return play(
        PlayableKernel(
            graph,
            loops,
            unspecialised.footprint_of(graph, device, versions),
            lambda miss, index: unspecialised.streams_of(graph, costs, loops, versions, miss, registers.spilled, index),
            ahead,
            {"worker": registers},
        ),
        device,
    )


def chosen_schedule(
    graph: KernelGraph, profile: HardwareProfile, kind: BaselineKind
) -> tuple[WarpSchedule, Simulation] | None:
    """The simulated schedule that TileLang chooses for ``kind``; None if it specialises nothing."""
    # role_based declines kernels that it cannot hand over in order; then the default pass handles them (RBS:824-892).
    for choice in (kind, CandidateKind.DEFAULT) if kind is CandidateKind.ROLE_BASED else (kind,):
        schedule = baseline_schedule(graph, profile, choice)
        played = simulate(graph, profile, schedule) if schedule is not None else None
        if schedule is not None and played is not None and not played.deadlocked:
            return schedule, played
    return None


def _versions(graph: KernelGraph) -> dict[str, int]:
    """Versions of each buffer that a pipelined loop loads: the loop's ``num_stages``."""
    stages = {scope.id: max(1, scope.num_stages) for scope in graph.scopes}
    return {
        access.buffer: stages.get(op.scope, 1)
        for op in graph.ops
        if op.kind in (OpKind.TMA_LOAD, OpKind.ASYNC_LOAD)
        for access in op.writes
    }


def _with_binds(graph: KernelGraph, placement: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """The placement with each scalar bound in every role that uses it: both passes leave bindings around all roles' code."""
    scopes = {scope.id: scope for scope in graph.scopes}
    binds = {op.binds: op for op in graph.ops if op.binds is not None}
    needed: dict[str, set[str]] = {op.id: set() for op in binds.values()}
    waiting = [(name, role) for op in graph.ops for role in placement[op.id] for name in op.uses_scalars]
    for op in graph.ops:
        scope = scopes.get(op.scope)
        while scope is not None:
            waiting += [(name, role) for role in placement[op.id] for name in scope.uses_scalars]
            scope = scopes.get(scope.parent or "")
    while waiting:
        name, role = waiting.pop()
        bind = binds.get(name)
        if bind is not None and role not in needed[bind.id]:
            needed[bind.id].add(role)
            waiting += [(used, role) for used in bind.uses_scalars]
    order = list(dict.fromkeys(role for roles in placement.values() for role in roles))
    return placement | {bind: tuple(role for role in order if role in roles) for bind, roles in needed.items() if roles}


def _default(graph: KernelGraph, *, wgmma: bool) -> WarpSchedule:
    consumers = graph.threads // WARP_THREADS
    registers = DEFAULT_CONSUMER_REGISTERS.get(consumers // WARPGROUP, 0)
    roles = [
        Role("load", 0, 4, LOAD_REGISTERS if registers else 0),
        Role("consumer", 4, 4 + consumers, registers),
    ]
    placement = _with_binds(graph, {op.id: ("load" if op.kind is OpKind.TMA_LOAD else "consumer",) for op in graph.ops})
    versions = _versions(graph)
    groups: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for op in graph.ops:
        if op.kind is not OpKind.TMA_LOAD:
            continue
        names = [access.buffer for access in op.writes]
        readers = tuple(r.id for r in graph.ops if any(a.buffer in names for a in r.reads))
        groups.setdefault((op.scope, readers), []).extend(
            n for n in names if n not in groups.get((op.scope, readers), [])
        )
    pipelines = [
        Pipeline("_".join(n.lower() for n in names), tuple(names), versions[names[0]] if scope != ROOT else 1)
        for (scope, _), names in groups.items()
    ]
    producers = {p.name: "load" for p in pipelines}
    return assemble(graph, roles, placement, pipelines, producers, 4 + consumers, wgmma=wgmma)


def _role_based(graph: KernelGraph, device: Machine, *, wgmma: bool) -> WarpSchedule:
    consumers = graph.threads // WARP_THREADS
    stores = any(op.kind is OpKind.TMA_STORE for op in graph.ops)
    names = ["consumer", "load", *(["store"] if stores else [])]
    num_warps = -(-(consumers + len(names) - 1) // WARPGROUP) * WARPGROUP
    versions = _versions(graph)
    shared = sum(
        b.bytes * versions.get(b.name, 1) for b in graph.buffers if b.memory is Memory.SHARED and prod(b.shape) > 0
    )
    threads = WARP_THREADS * num_warps
    guess = max(1, min(4, 2048 // threads, device.limits.shared_bytes_per_sm // max(1, shared)))
    if graph.min_blocks_per_sm > 1:
        guess = graph.min_blocks_per_sm
    average = device.limits.sm_registers // (guess * threads) // 8 * 8
    warpgroups, workers = num_warps // WARPGROUP, consumers // WARPGROUP
    budget = (warpgroups * average - (warpgroups - workers) * LOAD_REGISTERS) // max(1, workers) // 8 * 8
    if budget < max(average, LOAD_REGISTERS) or budget > 256:
        budget = 0
    auxiliary = LOAD_REGISTERS if budget else 0
    roles = [Role("consumer", 0, consumers, budget)]
    roles += [Role(name, consumers + i, consumers + i + 1, auxiliary) for i, name in enumerate(names[1:])]
    role_of = {OpKind.TMA_LOAD: "load", OpKind.TMA_STORE: "store"}
    placement = _with_binds(graph, {op.id: (role_of.get(op.kind, "consumer"),) for op in graph.ops})
    pipelines, producers = [], {}
    for buffer in graph.buffers:
        if buffer.memory is not Memory.SHARED:
            continue
        touching = [op for op in graph.ops if any(a.buffer == buffer.name for a in (*op.reads, *op.writes))]
        writers = {placement[op.id][0] for op in touching if any(a.buffer == buffer.name for a in op.writes)}
        if len({placement[op.id] for op in touching}) != 2 or len(writers) != 1:
            continue
        name = buffer.name.lower()
        pipelines.append(Pipeline(name, (buffer.name,), versions.get(buffer.name, 1)))
        producers[name] = writers.pop()
    return assemble(graph, roles, placement, pipelines, producers, num_warps, wgmma=wgmma)
