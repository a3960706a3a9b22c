"""The boundary of one rule: a situation just inside it, one just outside, and what ``check`` and ``build`` say to both.

``check`` must name the rule of the outer one and no other. ``build`` must agree: with the decisions of the schedule fixed, an
engine finds the inner one feasible and the outer one infeasible, and feasible again without the one family that is to forbid
it. Some schedules the search cannot even say (a statement that no role runs, a span that nothing closes): then ``build`` has
nothing to forbid, and the test shows that no assignment of the variables stands for the schedule.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from tests.unit.solver.families.situations import Situation
from warpwright.solver.device.limits import WARPGROUP
from warpwright.solver.domain.pins import DepthPin, Pins, PlacementPin, RolePin, StagePin
from warpwright.solver.domain.schedule import Fence, Instruction, OpRef, Sync, WarpSchedule
from warpwright.solver.engines import Budget, EngineStatus, engine
from warpwright.solver.engines.model import Literal
from warpwright.solver.warp.decode import decode
from warpwright.solver.warp.encoding import WarpEncoding
from warpwright.solver.warp.families import FAMILIES
from warpwright.solver.warp.layout.structure import structure_of
from warpwright.solver.warp.schedule_reader import Reading
from warpwright.solver.warp.solve import build_model

__all__ = ["CANNOT_BE_SAID", "Boundary", "assert_built", "assert_checked", "feasible", "said"]

BUDGET = Budget(work_limit=20_000, wall_seconds=120.0)
CANNOT_BE_SAID = ""
"""Stands for the family that forbids a schedule which the search has no words for."""


@dataclass(frozen=True)
class Boundary:
    """One rule with a situation on each side."""

    family: str
    rule: str
    legal: Callable[[], Situation]
    broken: Callable[[], Situation]
    forbidden_by: str | None = None
    """The family whose ``build`` forbids the outer one: its own without a word, or ``CANNOT_BE_SAID``."""
    also: tuple[str, ...] = ()
    """Families that forbid it as well: ``build`` must do it without them, and leave room when both are gone."""
    about: str = ""
    legal_is_said: bool = True
    """Whether the search can come upon the inner schedule at all."""
    opened: bool = True
    """Whether pins may open the search for values that it would not offer of its own; not where the rule is about pins."""

    def __str__(self) -> str:
        return "-".join((self.rule, *self.about.split()))


def assert_checked(boundary: Boundary) -> None:
    """``check`` accepts one side and names just this rule on the other."""
    assert boundary.legal().codes() == set()
    assert boundary.broken().codes() == {f"{boundary.family}/{boundary.rule}"}


def assert_built(boundary: Boundary) -> None:
    """``build`` leaves room for one side and none for the other."""
    legal, broken = (_opened(side()) if boundary.opened else side() for side in (boundary.legal, boundary.broken))
    if boundary.legal_is_said:
        assert said(legal), "the search has no words for the legal schedule"
        assert feasible(legal), "build forbids what check accepts"
    guard = boundary.family if boundary.forbidden_by is None else boundary.forbidden_by
    if guard == CANNOT_BE_SAID:
        assert not said(broken), "the search has words for the broken schedule: which family forbids it?"
        return
    assert said(broken), "the search has no words for the broken schedule"
    assert not feasible(broken, without=boundary.also), "build allows what check refuses"
    assert feasible(broken, without=(guard, *boundary.also)), f"another family than {guard} forbids it too"


def said(situation: Situation) -> bool:
    """Whether some assignment of the variables stands for this schedule, all rules aside."""
    every = tuple(family.NAME for family in FAMILIES)
    enc = _decided(situation, every)
    result = engine().solve(enc.model, BUDGET)
    if result.status is EngineStatus.INFEASIBLE:
        return False
    assert result.values is not None, result.reason
    return _plain(decode(enc, result.values)) == _plain(situation.schedule)


def feasible(situation: Situation, *, without: tuple[str, ...] = ()) -> bool:
    """Whether the decisions of the schedule are feasible, maybe without some families."""
    result = engine().solve(_decided(situation, without).model, BUDGET)
    assert result.status in (EngineStatus.OPTIMAL, EngineStatus.INFEASIBLE), result.reason
    return result.status is EngineStatus.OPTIMAL


def _decided(situation: Situation, without: tuple[str, ...]) -> WarpEncoding:
    """The model of a problem with everything that a schedule decides fixed."""
    schedule, problem = situation.schedule, replace(situation.problem, relaxed=without)
    enc = build_model(problem)
    enc.model.objectives = []
    with enc.model.family("decided"):
        _decide_roles(enc, schedule)
        _decide_pipelines(enc, Reading(problem, schedule))
        _decide_bodies(enc, Reading(problem, schedule))
    return enc


def _opened(situation: Situation) -> Situation:
    """With pins that make the search look at this schedule's values: they widen domains and free the order of the roles."""
    problem, schedule = situation.problem, situation.schedule
    reading = Reading(problem, schedule)
    names = [role.name for role in schedule.roles]
    roles = tuple(
        RolePin(role.name, role.warps_lo, role.warps_hi, role.registers_per_thread)
        for role in schedule.roles
        if names.count(role.name) == 1
    )
    inner = {buffer: reading.protecting(buffer)[-1:] for p in schedule.pipelines for buffer in p.buffers}
    depths = tuple(DepthPin(buffer, p.depth) for buffer, found in inner.items() for p in found if p.depth > 0)
    stages = tuple(
        StagePin(entry.item, entry.delta)
        for scope, role in reading.bodies
        for entry in reading.entries(scope, role)
        if entry.item in problem.ops and entry.delta
    )
    usual = structure_of(problem).placement
    placements = tuple(
        PlacementPin(op, where[0]) for op, where in reading.placement.items() if len(where) == 1 and where != usual[op]
    )
    return situation.pinned(Pins(roles=roles, placements=placements, depths=depths, stages=stages))


def _decide_roles(enc: WarpEncoding, schedule: WarpSchedule) -> None:
    model = enc.model
    groups = schedule.num_warps // WARPGROUP if schedule.num_warps % WARPGROUP == 0 else 0
    model.any_of([enc.groups[groups]] if groups in enc.groups else [])
    model.any_of([] if [role.name for role in schedule.roles] != list(enc.structure.roles) else [_true(enc)])
    for role in schedule.roles:
        if role.name in enc.first_warp:
            model.equal(enc.first_warp[role.name], role.warps_lo)
            model.equal(enc.warps[role.name], role.warps)
            model.equal(enc.registers[role.name], role.registers_per_thread)
    if all(role.registers_per_thread == 0 for role in schedule.roles):
        model.any_of([enc.no_reallocation])


def _decide_pipelines(enc: WarpEncoding, reading: Reading) -> None:
    channels = enc.structure.channels
    holding = []
    for index, channel in enumerate(channels):
        here = [p for p in reading.protecting(channel.buffer) if reading.scope_of[p.name] == channel.scope]
        holding.append(here[0].name if here else "")
        enc.model.equal(enc.depth[index], here[0].depth if here else -1)
    for (first, second), literal in enc.merged.items():
        enc.model.any_of([literal if holding[first] == holding[second] else literal.negated()])


def _decide_bodies(enc: WarpEncoding, reading: Reading) -> None:
    for scope, role, items in enc.bodies():
        entries = {entry.item: entry for entry in reading.entries(scope, role) if entry.item}
        for item in items:
            key = (scope, role, item)
            if item in entries and key in enc.stage_is:
                chosen = enc.stage_is[key].get(entries[item].delta)
                enc.model.any_of([] if chosen is None else [chosen])
        staged = [item for item in items if item in entries and (scope, role, item) in enc.phase]
        staged.sort(key=lambda item: entries[item].position)
        for first, second in pairwise(staged):
            ahead = enc.phase[scope, role, second] - enc.phase[scope, role, first]
            enc.model.at_least(ahead, 1)


def _true(enc: WarpEncoding) -> Literal:
    """A literal that holds."""
    literal = enc.model.boolean("true")
    enc.model.any_of([literal])
    return literal


def _plain(schedule: WarpSchedule) -> object:
    """A schedule without what is a matter of taste: names of pipelines, and the order of neighbouring synchronisations."""
    names = {pipeline.name: "+".join(sorted(pipeline.buffers)) for pipeline in schedule.pipelines}
    pipelines = sorted((names[pipeline.name], pipeline.depth) for pipeline in schedule.pipelines)
    programs = sorted(
        (program.scope, [(body.role, _plain_body(body.instructions, names)) for body in program.bodies])
        for program in schedule.scopes
    )
    return schedule.num_warps, schedule.roles, pipelines, programs


def _plain_body(body: Sequence[Instruction], names: dict[str, str]) -> list[str]:
    made: list[str] = []
    syncs: list[str] = []
    for instruction in (*body, None):
        if isinstance(instruction, Sync):
            name = names.get(instruction.pipeline, "?")
            syncs.append(f"{instruction.sync.value}:{name}@{instruction.stage}")
            continue
        made += sorted(syncs)
        syncs = []
        if isinstance(instruction, OpRef):
            made.append(instruction.id)
        elif isinstance(instruction, Fence):
            made.append(f"fence:{names.get(instruction.pipeline, '?')}")
    return made
