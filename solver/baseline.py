"""Simple schedules that need no search: one version of everything, every buffer its own pipeline, usual registers.

They are what an "infeasible" is held against. A solver bug that hides all schedules cannot hide these: they are built from
the placement alone and judged by the verifier alone.
"""

from collections.abc import Iterator

from solver.domain.kernel import ROOT
from solver.domain.schedule import (
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
from solver.encoding import default_warps
from solver.problem import CONSUMER, WarpProblem
from solver.structure import Structure, structure_of
from solver.wgmma import WARPGROUP

__all__ = ["baselines"]

REGISTER_PAIRS = ((24, 240), (24, 160), (40, 232), (0, 0))
"""Budgets of helpers and consumer that libraries use for one, two and three consumer warpgroups."""


def baselines(problem: WarpProblem) -> Iterator[WarpSchedule]:
    """Simple schedules for each width and register pair, with the pinned depths."""
    structure = structure_of(problem)
    own = max(problem.graph.threads // 128, 1)
    widths = dict.fromkeys([problem.pins.consumer_warpgroups or own, own, 1, 2, 3, 4])
    for groups in widths:
        for helper, consumer in REGISTER_PAIRS:
            yield _baseline(problem, structure, groups, helper, consumer)


def _baseline(problem: WarpProblem, structure: Structure, groups: int, helper: int, consumer: int) -> WarpSchedule:
    roles, ahead = [], 0
    for name in structure.roles:
        warps = WARPGROUP * groups if name == CONSUMER else default_warps(problem, structure, name)
        lo = -(-ahead // WARPGROUP) * WARPGROUP if warps >= WARPGROUP else ahead
        roles.append(Role(name, lo, lo + warps, consumer if name == CONSUMER else helper))
        ahead = lo + warps
    depth_pins = {pin.buffer: pin.depth for pin in problem.pins.depths}
    pipelines = tuple(
        Pipeline(f"{channel.name}_{n}", (channel.buffer,), depth_pins.get(channel.buffer, 1))
        for n, channel in enumerate(structure.channels)
    )
    programs = []
    for scope in [ROOT, *(scope.id for scope in problem.graph.scopes if scope.id != ROOT)]:
        bodies = tuple(
            RoleBody(role, _body(structure, pipelines, scope, role))
            for role in structure.roles
            if structure.body(scope, role)
        )
        if bodies:
            programs.append(ScopeProgram(scope, bodies))
    return WarpSchedule(-(-max(ahead, 1) // WARPGROUP) * WARPGROUP, tuple(roles), pipelines, tuple(programs))


def _body(structure: Structure, pipelines: tuple[Pipeline, ...], scope: str, role: str) -> tuple[Instruction, ...]:
    body: list[Instruction] = []
    items = structure.body(scope, role)
    held = [
        (pipeline.name, role == channel.producer, channel.writes if role == channel.producer else channel.reads)
        for channel, pipeline in zip(structure.channels, pipelines, strict=True)
        if channel.scope == scope and role in (channel.producer, channel.consumer)
    ]
    for item in items:
        for name, producing, touching in held:
            if item == touching[0]:
                kind = SyncKind.PRODUCER_ACQUIRE if producing else SyncKind.CONSUMER_WAIT
                body.append(Sync(kind, name))
        body.append(OpRef(item))
        for name, producing, touching in held:
            if item == touching[-1]:
                kind = SyncKind.PRODUCER_COMMIT if producing else SyncKind.CONSUMER_RELEASE
                body.append(Sync(kind, name))
    return tuple(body)
