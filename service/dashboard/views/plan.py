"""A schedule as tables: roles, pipelines and programs of a warp schedule, buffers of a buffer schedule."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from warpwright.solver.device.limits import WARPGROUP
from warpwright.solver.domain import (
    ROOT,
    BufferVersions,
    Certificate,
    DocumentError,
    Fence,
    Instruction,
    OpRef,
    Pipeline,
    Role,
    Schedule,
    WarpSchedule,
    load,
)

__all__ = ["PlanTables", "RoleSteps", "certificate_of", "plan_of"]


REGISTER_STEP = 8


@dataclass(frozen=True, slots=True)
class RoleSteps:
    """The steps of each role in one scope, in emission order."""

    scope: str
    bodies: tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class PlanTables:
    """The tables; those for the other kind of schedule are empty."""

    roles: Sequence[Role] = ()
    pipelines: Sequence[Pipeline] = ()
    programs: Sequence[RoleSteps] = ()
    buffers: Sequence[BufferVersions] = ()

    @property
    def choices(self) -> tuple[tuple[str, str], ...]:
        """Questions that this kernel can be asked: its own pipelines and roles, one step away from the plan, with words."""
        found = []
        for pipe in self.pipelines:
            for depth in (pipe.depth + 1, pipe.depth - 1):
                if depth > 0:
                    found.append(
                        (
                            f"pipelines.{pipe.name}.depth={depth}",
                            f"depth {depth} of {pipe.name} instead of {pipe.depth}",
                        )
                    )
        if len(self.pipelines) > 1:
            found.append(("pipelines.merged=true", "buffers that may share a pipeline do"))
        consumers = [role for role in self.roles if role.name == "consumer"]
        for role in consumers:
            groups = role.warps // WARPGROUP
            found += [
                (f"roles.consumer.warpgroups={count}", f"{count} consumer warpgroups instead of {groups}")
                for count in (groups + 1, groups - 1)
                if groups and count > 0
            ]
            if role.registers_per_thread:
                more = role.registers_per_thread + REGISTER_STEP
                found.append((f"roles.consumer.registers={more}", f"{more} registers for the consumer"))
        if any(role.name == "store" for role in self.roles):
            found.append(("store_role=false", "the consumer stores itself"))
        elif self.roles:
            found.append(("store_role=true", "a role of its own for stores"))
        for each in self.buffers:
            found.append((f"buffers.{each.buffer}.depth={each.versions + 1}", f"one more version of {each.buffer}"))
        return tuple(found)


def plan_of(document: Mapping[str, Any]) -> PlanTables | None:
    """The tables of a stored schedule; None for one that this version cannot read (its page shows all else)."""
    try:
        schedule: Schedule = load(Schedule, document)
    except DocumentError:
        return None
    if not isinstance(schedule, WarpSchedule):
        return PlanTables(buffers=schedule.buffers)
    programs = tuple(
        RoleSteps(
            "outside loops" if program.scope == ROOT else f"loop {program.scope}",
            tuple((body.role, tuple(map(_step, body.instructions))) for body in program.bodies),
        )
        for program in schedule.scopes
    )
    return PlanTables(schedule.roles, schedule.pipelines, programs)


def certificate_of(document: Mapping[str, Any] | None) -> Certificate | None:
    """A stored certificate; None without one, or for one that this version cannot read."""
    try:
        return load(Certificate, document) if document else None
    except DocumentError:
        return None


def _step(step: Instruction) -> str:
    if isinstance(step, OpRef):
        return step.id
    if isinstance(step, Fence):
        return f"fence {step.pipeline}"
    return f"{step.sync.value.replace('_', ' ')} {step.pipeline}" + (f" @{step.stage}" if step.stage else "")
