"""A kernel as TileLang's scheduler sees it, as plain values: storages, loops, and the units of each loop in task order.

Plain Python; made in a child by :mod:`warpwright.lowering.ascend.structure`, used by the graph and the checks.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from warpwright.solver.domain import ROOT

__all__ = ["CAPACITY_KEYS", "Layout", "LoopNode", "SchedulerTask", "Storage", "containers"]

CAPACITY_KEYS: dict[str, str] = {
    "shared": "ub",
    "shared.dyn": "ub",
    "shared.l1": "l1",
    "shared.l0a": "l0a",
    "shared.l0b": "l0b",
    "shared.l0c": "l0c",
}
"""Storage scope in the IR -> section of the hardware profile that limits it."""


@dataclass(frozen=True, slots=True)
class Storage:
    """One on-chip storage (all aliases of one data pointer). ``bytes`` is one version without alignment."""

    name: str
    scope: str
    shape: tuple[int, ...]
    dtype: str
    bytes: int


@dataclass(slots=True)
class LoopNode:
    """A scheduled loop. ``eligible`` are the storages that may have several versions in it."""

    variable: str
    trips: int | None
    num_stages: int
    enable_offset: bool
    eligible: tuple[str, ...]
    units: list["SchedulerTask"] = field(default_factory=list)


@dataclass(slots=True)
class SchedulerTask:
    """One task of the scheduler: a statement with a cost, or a nested loop."""

    id: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    global_reads: tuple[str, ...]
    global_writes: tuple[str, ...]
    text: str
    latency_cycles: int = 0
    issue_cycles: int = 0
    guarded: bool = False
    stage: int | None = None
    loop: LoopNode | None = None


@dataclass(slots=True)
class Layout:
    """A whole kernel before AutoSchedule. ``explicit`` are storages whose eligibility the user claimed on a loop."""

    name: str
    grid: int | None
    storages: dict[str, Storage]
    globals: dict[str, tuple[tuple[int, ...], str]]
    units: list[SchedulerTask]
    simt: bool
    explicit: tuple[str, ...] = ()
    affine: bool = True
    """False when a loop has variable bounds or a ``while``: ring indices then need counters."""


def containers(layout: Layout) -> Iterator[tuple[str, LoopNode | None, list[SchedulerTask]]]:
    """Scopes in the order in which AutoSchedule schedules them: children first, the root (``None``) last."""

    def walk(units: list[SchedulerTask]) -> Iterator[tuple[str, LoopNode | None, list[SchedulerTask]]]:
        for unit in units:
            if unit.loop is not None:
                yield from walk(unit.loop.units)
                yield unit.id, unit.loop, unit.loop.units

    yield from walk(layout.units)
    if len(layout.units) > 1:
        yield ROOT, None, layout.units
