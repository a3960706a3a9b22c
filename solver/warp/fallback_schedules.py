"""Simple schedules that need no search: one version of everything, every buffer in its own pipeline, usual registers.

They cross-check an "infeasible". A solver bug that hides all schedules cannot hide these: they are built from
the placement alone and judged by the verifier alone.
"""

from collections.abc import Iterator, Mapping, Sequence

from warpwright.solver.device.limits import WARPGROUP, WARPGROUP_THREADS
from warpwright.solver.domain.kernel import ROOT
from warpwright.solver.domain.schedule import (
    Instruction,
    OpRef,
    Pipeline,
    Role,
    RoleBody,
    ScopeProgram,
    Sync,
    SyncKind,
    WarpSchedule,
)
from warpwright.solver.warp.encoding import default_warps
from warpwright.solver.warp.layout.buffer_channels import Channel, together
from warpwright.solver.warp.layout.proxies import with_fences
from warpwright.solver.warp.layout.structure import PlacedKernel, structure_of
from warpwright.solver.warp.problem import CONSUMER, WarpProblem

__all__ = ["baselines", "simple_schedule"]

REGISTER_PAIRS = ((24, 240), (24, 160), (40, 232), (0, 0))
"""Register budgets of helper roles and consumer that libraries use for one, two and three consumer warpgroups."""


Protected = tuple[Pipeline, tuple[int, ...]]
"""A pipeline with the channels it protects, by index."""


def baselines(problem: WarpProblem) -> Iterator[WarpSchedule]:
    """Simple schedules for each width and register pair, with the pinned depths."""
    structure = structure_of(problem)
    own = max(problem.graph.threads // WARPGROUP_THREADS, 1)
    depths = {pin.buffer: pin.depth for pin in problem.pins.depths}
    pipelines = [
        (Pipeline(f"{channel.name}_{n}", (channel.buffer,), _depth(channel, depths)), (n,))
        for n, channel in enumerate(structure.channels)
    ]
    for groups in dict.fromkeys([problem.pins.consumer_warpgroups or own, own, 1, 2, 3, 4]):
        for helper, consumer in REGISTER_PAIRS:
            yield simple_schedule(problem, groups, helper, consumer, pipelines)


def _depth(channel: Channel, pinned: Mapping[str, int]) -> int:
    """A pin fixes the versions of the innermost pipeline; an enclosing one has one."""
    return 1 if channel.encloses else pinned.get(channel.buffer, 1)


def simple_schedule(
    problem: WarpProblem, groups: int, helper: int, consumer: int, pipelines: Sequence[Protected]
) -> WarpSchedule:
    """A schedule in source order with these pipelines, this many consumer warpgroups and these budgets.

    It may be illegal; the verifier decides.
    """
    structure = structure_of(problem)
    roles, ahead = [], 0
    for name in structure.roles:
        warps = WARPGROUP * groups if name == CONSUMER else default_warps(problem, structure, name)
        lo = -(-ahead // WARPGROUP) * WARPGROUP if warps >= WARPGROUP else ahead
        roles.append(Role(name, lo, lo + warps, consumer if name == CONSUMER else helper))
        ahead = lo + warps
    programs = []
    for scope in [ROOT, *(scope.id for scope in problem.graph.scopes if scope.id != ROOT)]:
        bodies = tuple(
            RoleBody(role, _body(structure, pipelines, scope, role))
            for role in structure.roles
            if structure.body(scope, role)
        )
        if bodies:
            programs.append(ScopeProgram(scope, bodies))
    num_warps = -(-max(ahead, 1) // WARPGROUP) * WARPGROUP
    schedule = WarpSchedule(num_warps, tuple(roles), tuple(pipeline for pipeline, _ in pipelines), tuple(programs))
    return with_fences(problem.graph, schedule, wgmma=problem.device.wgmma)


def _body(structure: PlacedKernel, pipelines: Sequence[Protected], scope: str, role: str) -> tuple[Instruction, ...]:
    items = structure.body(scope, role)
    before: dict[int, list[Sync]] = {n: [] for n in range(len(items))}
    after: dict[int, list[Sync]] = {n: [] for n in range(len(items))}
    for pipeline, members in pipelines:
        channels = [structure.channels[n] for n in members]
        if channels[0].scope != scope or role not in (channels[0].producer, channels[0].consumer):
            continue
        producing = role == channels[0].producer
        opening = SyncKind.PRODUCER_ACQUIRE if producing else SyncKind.CONSUMER_WAIT
        closing = SyncKind.PRODUCER_COMMIT if producing else SyncKind.CONSUMER_RELEASE
        for value in together(channels):
            places = [n for n, item in enumerate(items) if item in (value.writes if producing else value.reads)]
            before[places[0]].append(Sync(opening, pipeline.name))
            after[places[-1]].append(Sync(closing, pipeline.name))
    body: list[Instruction] = []
    for n, item in enumerate(items):
        body += [*before[n], OpRef(item), *after[n]]
    return tuple(body)
