"""The two kinds of schedule. ``WarpSchedule`` maps one to one to TileLang's ``T.WSSchedule`` (seeds/ws_schedule.txt)."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from warpwright.solver.domain.errors import GraphError

__all__ = [
    "BufferSchedule",
    "BufferVersions",
    "ChosenBy",
    "Fence",
    "Instruction",
    "LoopSchedule",
    "OpRef",
    "Pipeline",
    "Role",
    "RoleBody",
    "ScopeProgram",
    "Sync",
    "SyncKind",
    "TaskTime",
    "VersionMode",
    "WarpSchedule",
]


class SyncKind(StrEnum):
    """``T.WSSyncKind``: the producer acquires and commits, the consumer waits and releases."""

    PRODUCER_ACQUIRE = "producer_acquire"
    PRODUCER_COMMIT = "producer_commit"
    CONSUMER_WAIT = "consumer_wait"
    CONSUMER_RELEASE = "consumer_release"


@dataclass(frozen=True, slots=True)
class Role:
    """``T.WSRole``: warps ``warps_lo .. warps_hi - 1`` with one duty; ``registers_per_thread`` 0 emits no setmaxnreg."""

    name: str
    warps_lo: int
    warps_hi: int
    registers_per_thread: int = 0

    @property
    def warps(self) -> int:
        """Width of the role in warps."""
        return self.warps_hi - self.warps_lo


@dataclass(frozen=True, slots=True)
class Pipeline:
    """``T.WSPipeline``: a full/empty mbarrier pair that protects ``depth`` versions of each of its buffers."""

    name: str
    buffers: tuple[str, ...]
    depth: int


@dataclass(frozen=True, slots=True)
class OpRef:
    """``T.WSOpRef``: the operation or child scope with this ``tl.ws_op_id``."""

    id: str
    kind: Literal["op"] = "op"


@dataclass(frozen=True, slots=True)
class Sync:
    """``T.WSSync``: one synchronisation point of a pipeline at a stage."""

    sync: SyncKind
    pipeline: str
    stage: int = 0
    kind: Literal["sync"] = "sync"


@dataclass(frozen=True, slots=True)
class Fence:
    """``fence.proxy.async.shared::cta`` inside a consumer's span of a pipeline, at the span's stage.

    What the role's threads did to shared memory by ordinary loads and stores comes before what the asynchronous proxy (bulk
    copies, products by descriptors) does to it once it was told. ``T.WSSchedule`` has no such entry: it is materialised as a
    statement of its own.
    """

    pipeline: str
    kind: Literal["fence"] = "fence"


Instruction = OpRef | Sync | Fence


@dataclass(frozen=True, slots=True)
class RoleBody:
    """What one role does in one iteration of a scope, in emission order."""

    role: str
    instructions: tuple[Instruction, ...]


@dataclass(frozen=True, slots=True)
class ScopeProgram:
    """``T.WSScope``: per-role programs of one loop, or of the root (``warpwright.solver.domain.ROOT``)."""

    scope: str
    bodies: tuple[RoleBody, ...]

    def body(self, role: str) -> tuple[Instruction, ...]:
        """The role's instructions; empty if it does not enter the scope."""
        for body in self.bodies:
            if body.role == role:
                return body.instructions
        return ()


@dataclass(frozen=True, slots=True)
class WarpSchedule:
    """``T.WSSchedule``: the complete warp specialisation of one kernel."""

    num_warps: int
    roles: tuple[Role, ...]
    pipelines: tuple[Pipeline, ...]
    scopes: tuple[ScopeProgram, ...]
    kind: Literal["warp"] = "warp"

    def role(self, name: str) -> Role:
        """The role with this name; GraphError if there is none."""
        for role in self.roles:
            if role.name == name:
                return role
        raise GraphError(f"the schedule has no role {name!r}", code="schedule-unknown-role", place=name)

    def pipeline(self, name: str) -> Pipeline:
        """The pipeline with this name; GraphError if there is none."""
        for pipeline in self.pipelines:
            if pipeline.name == name:
                return pipeline
        raise GraphError(f"the schedule has no pipeline {name!r}", code="schedule-unknown-pipeline", place=name)

    def program(self, scope: str) -> ScopeProgram:
        """The program of a scope; GraphError if there is none."""
        for program in self.scopes:
            if program.scope == scope:
                return program
        raise GraphError(f"the schedule has no scope {scope!r}", code="schedule-unknown-scope", place=scope)


class VersionMode(StrEnum):
    """How a version is indexed: by the affine loop index, by a counter of active epochs, or by TileLang's own rule."""

    AUTO = "auto"
    ITERATION = "iteration"
    COUNTER = "counter"


class ChosenBy(StrEnum):
    """Who decided a value: the user's pin or annotation, a fixed rule, or the solver."""

    USER = "user"
    RULE = "rule"
    SOLVER = "solver"


@dataclass(frozen=True, slots=True)
class BufferVersions:
    """Version count and index mode of one buffer, with who chose each."""

    buffer: str
    versions: int
    mode: VersionMode
    versions_chosen_by: ChosenBy
    mode_chosen_by: ChosenBy
    eligible: bool = True
    """False: the storage always has one version (opted out, not eligible, or a ring that the user indexes by hand)."""
    manual_versions: int | None = None
    """Ring size of a buffer that the user indexes by hand (``T.annotate_manual_multi_buffer``)."""


@dataclass(frozen=True, slots=True)
class TaskTime:
    """Start of one task of a loop in cycles from the loop's first issue; ``stage = start_cycle // interval``."""

    task: str
    start_cycle: int
    stage: int


@dataclass(frozen=True, slots=True)
class LoopSchedule:
    """Schedule of one loop (``initiation_interval_cycles``) or straight-line list (None, then ``makespan_cycles``)."""

    scope: str
    initiation_interval_cycles: int | None
    makespan_cycles: int
    tasks: tuple[TaskTime, ...]


@dataclass(frozen=True, slots=True)
class BufferSchedule:
    """Ascend: version counts and modes of every eligible buffer and the start times of every loop's tasks."""

    buffers: tuple[BufferVersions, ...]
    loops: tuple[LoopSchedule, ...]
    unlimited_memories: tuple[str, ...] = ()
    """Memories whose limit the user lifted for the scheduler; the hardware's limit stays."""
    kind: Literal["buffer"] = "buffer"
