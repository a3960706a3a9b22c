"""From an assignment of variables to its schedule."""

from collections.abc import Sequence

from warpwright.solver.device.limits import WARPGROUP
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
from warpwright.solver.engines.model import Literal
from warpwright.solver.warp.encoding import WarpEncoding
from warpwright.solver.warp.layout.buffer_channels import together
from warpwright.solver.warp.layout.instruction_order import wait_behind
from warpwright.solver.warp.layout.proxies import with_fences

__all__ = ["decode"]


def decode(enc: WarpEncoding, values: Sequence[int]) -> WarpSchedule:
    """The schedule of an assignment.

    An acquire is right before the first item that fills the pipeline's buffers, a commit right after the last one, a
    wait and a release likewise around the items that use them; one pair for each value of an iteration. Fences between the
    proxies stand right before the releases that need them.
    """
    pipelines = _pipelines(enc, values)
    scopes = [ROOT, *(scope.id for scope in enc.problem.graph.scopes if scope.id != ROOT)]
    programs = []
    for scope in scopes:
        bodies = []
        for role in enc.structure.roles:
            items = _ordered(enc, values, scope, role)
            if items:
                bodies.append(RoleBody(role, _body(enc, values, scope, role, items, pipelines)))
        if bodies:
            programs.append(ScopeProgram(scope, tuple(bodies)))
    roles = tuple(
        Role(
            name=role,
            warps_lo=values[enc.first_warp[role].index],
            warps_hi=values[enc.first_warp[role].index] + values[enc.warps[role].index],
            registers_per_thread=values[enc.registers[role].index],
        )
        for role in enc.structure.roles
    )
    groups = next(n for n, literal in enc.groups.items() if truth(literal, values))
    schedule = WarpSchedule(WARPGROUP * groups, roles, tuple(p for p, _ in pipelines), tuple(programs))
    return with_fences(enc.problem.graph, schedule, wgmma=enc.problem.device.wgmma)


def truth(literal: Literal, values: Sequence[int]) -> bool:
    """The value of a literal under an assignment."""
    return bool(values[literal.var.index]) == literal.positive


def _pipelines(enc: WarpEncoding, values: Sequence[int]) -> list[tuple[Pipeline, tuple[int, ...]]]:
    """Pipelines with the indices of their channels, in order of their first channel."""
    channels, made = enc.structure.channels, list[tuple[Pipeline, tuple[int, ...]]]()
    names: set[str] = set()
    for index, lead in enumerate(enc.leads):
        if not truth(lead, values):
            continue
        members = [index]
        members += [n for (first, n), literal in enc.merged.items() if first == index and truth(literal, values)]
        name = "_".join(channels[n].name for n in members)
        while name in names:
            name += "_in_" + channels[index].scope.lower()
        names.add(name)
        buffers = tuple(channels[n].buffer for n in members)
        made.append((Pipeline(name, buffers, values[enc.depth[index].index]), tuple(members)))
    return made


def _ordered(enc: WarpEncoding, values: Sequence[int], scope: str, role: str) -> tuple[str, ...]:
    items = enc.structure.body(scope, role)
    if scope == ROOT or not enc.is_staged(scope, role):
        return items
    return tuple(sorted(items, key=lambda item: values[enc.phase[scope, role, item].index]))


def _body(
    enc: WarpEncoding,
    values: Sequence[int],
    scope: str,
    role: str,
    items: tuple[str, ...],
    pipelines: list[tuple[Pipeline, tuple[int, ...]]],
) -> tuple[Instruction, ...]:
    before: dict[int, list[Sync]] = {n: [] for n in range(len(items))}
    after: dict[int, list[Sync]] = {n: [] for n in range(len(items))}
    for pipeline, members in pipelines:
        channels = [enc.structure.channels[n] for n in members]
        if channels[0].scope != scope or role not in (channels[0].producer, channels[0].consumer):
            continue
        producing = role == channels[0].producer
        opening = SyncKind.PRODUCER_ACQUIRE if producing else SyncKind.CONSUMER_WAIT
        closing = SyncKind.PRODUCER_COMMIT if producing else SyncKind.CONSUMER_RELEASE
        for value in together(channels):
            places = [n for n, item in enumerate(items) if item in (value.writes if producing else value.reads)]
            stage = _stage(enc, values, scope, role, items[places[0]])
            last = max(places[-1], _last_wait(enc, enc.structure.body(scope, role), items, places))
            before[places[0]].append(Sync(opening, pipeline.name, stage))
            after[last].append(Sync(closing, pipeline.name, stage))
    body: list[Instruction] = []
    for n, item in enumerate(items):
        body += [*before[n], OpRef(item), *after[n]]
    return tuple(body)


def _last_wait(enc: WarpEncoding, source: tuple[str, ...], items: tuple[str, ...], places: list[int]) -> int:
    """Place of the wait that an asynchronous product in the span needs before its operands are free, by ``source`` order."""
    last = -1
    for place in places:
        op = enc.problem.ops.get(items[place])
        if op is None or op.gemm is None or op.gemm.waits:
            continue
        wait = wait_behind(enc.problem.ops, source, items[place])
        last = max(last, items.index(wait) if wait is not None else -1)
    return last


def _stage(enc: WarpEncoding, values: Sequence[int], scope: str, role: str, item: str) -> int:
    literals = enc.stage_is.get((scope, role, item), {})
    return next((stage for stage, literal in literals.items() if truth(literal, values)), 0)
