"""A kernel, a device and a schedule for it, built by hand and changed in one place at a time.

No engine is asked for any of it: a start is :func:`warpwright.solver.warp.fallback_schedules.simple_schedule`, every
change is one value of the schedule,
of the device or of the pins.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from warpwright.solver.domain.kernel import ROOT, KernelGraph
from warpwright.solver.domain.pins import Pins, PlacementPin
from warpwright.solver.domain.schedule import (
    Fence,
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
from warpwright.solver.profiles import load_profile
from warpwright.solver.warp.fallback_schedules import simple_schedule
from warpwright.solver.warp.layout.structure import structure_of
from warpwright.solver.warp.problem import WarpProblem, close_problem
from warpwright.solver.warp.verify import violations

__all__ = ["ROOT", "Situation", "instructions", "start"]

KINDS = {
    "acquire": SyncKind.PRODUCER_ACQUIRE,
    "commit": SyncKind.PRODUCER_COMMIT,
    "wait": SyncKind.CONSUMER_WAIT,
    "release": SyncKind.CONSUMER_RELEASE,
}


def instructions(words: Sequence[str]) -> tuple[Instruction, ...]:
    """``mma`` is an operation or a loop, ``wait:ring`` and ``fence:ring`` what their words say, ``wait:ring@1`` at stage 1."""
    made: list[Instruction] = []
    for word in words:
        kind, _, rest = word.partition(":")
        pipeline, _, stage = rest.partition("@")
        if kind == "fence":
            made.append(Fence(pipeline))
        else:
            made.append(Sync(KINDS[kind], pipeline, int(stage or 0)) if rest else OpRef(word))
    return tuple(made)


@dataclass(frozen=True)
class Situation:
    """A closed problem and a schedule for it; every method gives another situation."""

    problem: WarpProblem
    schedule: WarpSchedule

    def codes(self) -> set[str]:
        """What the verifier says: ``family/rule`` of every violation."""
        return {f"{v.family}/{v.rule}" for v in violations(self.problem, self.schedule)}

    def on(self, **device: int | bool) -> "Situation":
        """On a device that differs in these numbers."""
        return replace(
            self, problem=self.problem.on(replace(self.problem.device, **device))  # type: ignore[arg-type]  # by name
        )  # fmt: skip

    def pinned(self, pins: Pins) -> "Situation":
        """With more pins; the schedule stays as it is."""
        return replace(self, problem=self.problem.with_pins(pins))

    def warps(self, count: int) -> "Situation":
        """In a block of this many warps."""
        return replace(self, schedule=replace(self.schedule, num_warps=count))

    def role(
        self, name: str, *, lo: int | None = None, hi: int | None = None, registers: int | None = None
    ) -> "Situation":
        """With another range or budget of one role; a role that is not there yet comes last."""
        known = {role.name: role for role in self.schedule.roles}
        old = known.get(name, Role(name, 0, 0))
        known[name] = Role(
            name,
            old.warps_lo if lo is None else lo,
            old.warps_hi if hi is None else hi,
            old.registers_per_thread if registers is None else registers,
        )
        return replace(self, schedule=replace(self.schedule, roles=tuple(known.values())))

    def pipeline(self, name: str, *, depth: int | None = None, buffers: tuple[str, ...] | None = None) -> "Situation":
        """With another depth or other buffers of one pipeline; a pipeline that is not there yet comes last."""
        known = {pipeline.name: pipeline for pipeline in self.schedule.pipelines}
        old = known.get(name, Pipeline(name, (), 1))
        known[name] = Pipeline(name, old.buffers if buffers is None else buffers, old.depth if depth is None else depth)
        return replace(self, schedule=replace(self.schedule, pipelines=tuple(known.values())))

    def without(self, pipeline: str) -> "Situation":
        """Without a pipeline, its synchronisations and its fences."""
        programs = [
            replace(
                program,
                bodies=tuple(
                    replace(
                        body,
                        instructions=tuple(
                            i for i in body.instructions if isinstance(i, OpRef) or i.pipeline != pipeline
                        ),
                    )
                    for body in program.bodies
                ),
            )
            for program in self.schedule.scopes
        ]
        kept = tuple(each for each in self.schedule.pipelines if each.name != pipeline)
        return replace(self, schedule=replace(self.schedule, pipelines=kept, scopes=tuple(programs)))

    def body(self, scope: str, role: str, *words: str) -> "Situation":
        """With another body of one role in one scope (none: without words); see :func:`instructions`."""
        new = RoleBody(role, instructions(words))
        programs = []
        for program in self.schedule.scopes:
            bodies = {body.role: body for body in program.bodies}
            if program.scope == scope:
                bodies[role] = new
            programs.append(ScopeProgram(program.scope, tuple(body for body in bodies.values() if body.instructions)))
        return self.programs(*programs)

    def programs(self, *programs: ScopeProgram) -> "Situation":
        """With these programs."""
        return replace(self, schedule=replace(self.schedule, scopes=programs))


def start(
    graph: KernelGraph,
    *,
    profile: str = "h200",
    groups: int = 1,
    helper: int = 24,
    consumer: int = 240,
    depth: int = 2,
    together: tuple[tuple[str, ...], ...] = (),
    pins: Pins | None = None,
    placed: Mapping[str, str] | None = None,
) -> Situation:
    """The kernel in source order: buffers named ``together`` share a pipeline, all others have one of their own.

    Pipelines are called by their buffers (``as_bs``); ``depth`` is that of pipelines inside of loops. The schedule has the
    operations of ``placed`` in these roles, which no pin of the problem asks for.
    """
    problem = close_problem(graph, load_profile(profile), pins)
    given, problem = problem, problem.with_pins(
        Pins(placements=tuple(PlacementPin(op, role) for op, role in (placed or {}).items()))
    )  # fmt: skip
    channels = structure_of(problem).channels
    grouped = [tuple(n for n, channel in enumerate(channels) if channel.buffer in names) for names in together]
    shared = {n for members in grouped for n in members}
    grouped += [(n,) for n in range(len(channels)) if n not in shared]
    pipelines = [
        (
            Pipeline(
                "_".join(channels[n].name for n in members),
                tuple(channels[n].buffer for n in members),
                1 if channels[members[0]].scope == ROOT else depth,
            ),
            members,
        )
        for members in grouped
    ]
    return Situation(given, simple_schedule(problem, groups, helper, consumer, pipelines))
