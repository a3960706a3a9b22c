"""Pins: what the user fixed before the search. Every candidate keeps all pins, or the answer is infeasible and names the pin."""

from dataclasses import dataclass

__all__ = ["BufferPin", "DepthPin", "Pins", "PipelinePin", "PlacementPin", "RolePin", "StagePin"]


@dataclass(frozen=True, slots=True)
class RolePin:
    """Fixes a role's warp range (half open) or register budget (``registers_per_thread``, 0 = no setmaxnreg)."""

    role: str
    warps_lo: int | None = None
    warps_hi: int | None = None
    registers_per_thread: int | None = None


@dataclass(frozen=True, slots=True)
class PlacementPin:
    """Fixes the role that issues an operation."""

    op: str
    role: str


@dataclass(frozen=True, slots=True)
class PipelinePin:
    """These buffers share one pipeline (a set of one: the buffer has a pipeline of its own)."""

    buffers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DepthPin:
    """Fixes the depth (number of versions) of the pipeline that protects a buffer."""

    buffer: str
    depth: int


@dataclass(frozen=True, slots=True)
class StagePin:
    """Fixes the stage offset of an operation inside its role's body."""

    op: str
    stage: int


@dataclass(frozen=True, slots=True)
class BufferPin:
    """Ascend: a buffer's version count and index mode, as ``T.annotate_buffer_versions`` takes them.

    ``versions`` 1 without a mode opts the storage out; with a mode it keeps eligibility. ``manual_versions`` declares a
    ring that the user indexes by hand (``T.annotate_manual_multi_buffer``).
    """

    buffer: str
    versions: int | None = None
    mode: str | None = None
    manual_versions: int | None = None


@dataclass(frozen=True, slots=True)
class Pins:
    """Everything the user fixed; empty by default."""

    roles: tuple[RolePin, ...] = ()
    placements: tuple[PlacementPin, ...] = ()
    pipelines: tuple[PipelinePin, ...] = ()
    depths: tuple[DepthPin, ...] = ()
    stages: tuple[StagePin, ...] = ()
    buffers: tuple[BufferPin, ...] = ()
    unlimited_memories: tuple[str, ...] = ()
    consumer_warpgroups: int | None = None
    store_role: bool | None = None
    merged_pipelines: bool | None = None
    software_pipelining: bool | None = None
