"""TileLang's own schedule of an Ascend kernel, watched: what it costs, and whether the kernel fits. Child processes only."""

from dataclasses import dataclass
from typing import Any

from warpwright.lowering.ascend.annotations import read_pins
from warpwright.lowering.ascend.lower import Watched, lower_watched
from warpwright.solver.ascend.total_cycles import total_cycles
from warpwright.solver.ascend.versions import buffer_versions
from warpwright.solver.domain import BufferSchedule, Conflict, HardwareProfile
from warpwright.tuning.ascend.graph import read_graph
from warpwright.tuning.ascend.kernel import overflows_of
from warpwright.tuning.ascend.plan import Planner

__all__ = ["TilelangChoice", "tilelang_choice"]


@dataclass(frozen=True, slots=True)
class TilelangChoice:
    """A kernel as TileLang schedules it. ``total_cycles`` is None where trips are not known or a list kept its source order."""

    watched: Watched
    total_cycles: int | None
    overflow: tuple[Conflict, ...]


def tilelang_choice(function: Any, profile: HardwareProfile) -> TilelangChoice:
    """Lower a kernel with TileLang's own scheduler.

    Raises:
        NotApplicable, LoweringFailed: as :func:`warpwright.lowering.ascend.lower.lower_watched`.
    """
    pins = read_pins(function)
    planner = Planner(None, {pin.buffer: pin for pin in pins.buffers}, profile, pins.unlimited_memories)
    watched = lower_watched(function, None, planner.begin, planner.observe)
    assert watched.layout is not None
    graph = read_graph(watched.layout, planner.asked, profile, pins, watched.shared)
    schedule = BufferSchedule(buffer_versions(graph, watched.versions), planner.loops(), pins.unlimited_memories)
    cycles = total_cycles(graph, profile, {loop.scope: loop for loop in schedule.loops})
    return TilelangChoice(watched, cycles, overflows_of(graph, watched, schedule, profile))
