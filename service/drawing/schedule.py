"""One schedule on one device as timelines, facts and memory maps, for pages and reports."""

from collections.abc import Mapping
from dataclasses import dataclass

from warpwright.service.drawing.block import block_timeline
from warpwright.service.drawing.memory import MemoryMap, buffer_maps, register_map, shared_map
from warpwright.service.drawing.pipes import loop_timeline
from warpwright.service.drawing.timeline import Timeline
from warpwright.solver.domain import (
    ROOT,
    BufferSchedule,
    Certificate,
    HardwareProfile,
    KernelGraph,
    Schedule,
    WarpSchedule,
)
from warpwright.solver.forecast import Simulation, WaterfallStep, simulate, waterfall

__all__ = ["Drawn", "Evidence", "draw_schedule", "facts_of"]

SHOWN_UNITS = 4
SAME = 0.01


@dataclass(frozen=True, slots=True)
class Drawn:
    """A schedule as a page shows it."""

    timelines: tuple[Timeline, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    maps: tuple[MemoryMap, ...] = ()
    steps: tuple[WaterfallStep, ...] = ()
    """From the proven bound to the forecast, and to the measured time."""

    @property
    def end_cycle(self) -> int:
        """The end of the longest timeline."""
        return max((timeline.end_cycle for timeline in self.timelines), default=0)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of a schedule besides itself: its proof, its time, and the clock after that was measured."""

    certificate: Certificate | None = None
    measured_ns: float | None = None
    measured_mhz: float | None = None


def draw_schedule(
    graph: KernelGraph, profile: HardwareProfile, schedule: Schedule, evidence: Evidence | None = None
) -> Drawn:
    """Timelines, facts, maps and the waterfall of one schedule on one device."""
    if isinstance(schedule, BufferSchedule):
        timelines = tuple(loop_timeline(graph, schedule, loop) for loop in schedule.loops)
        return Drawn(tuple(each for each in timelines if each.lanes), (), buffer_maps(graph, profile, schedule))
    simulation = simulate(graph, profile, schedule, traced=True)
    products = frozenset(op.id for op in graph.ops if op.gemm is not None)
    nested = any(scope.parent not in (None, ROOT) for scope in graph.scopes)
    timeline = block_timeline(simulation, products, nested=nested)
    steps: tuple[WaterfallStep, ...] = ()
    if evidence is not None and evidence.certificate is not None:
        times = {"measured_ns": evidence.measured_ns, "measured_mhz": evidence.measured_mhz}
        steps = waterfall(graph, profile, evidence.certificate, simulation, **times)
    maps = _warp_maps(graph, profile, schedule)
    return Drawn((timeline,) if timeline.lanes else (), facts_of(simulation), maps, steps)


def _warp_maps(graph: KernelGraph, profile: HardwareProfile, schedule: WarpSchedule) -> tuple[MemoryMap, ...]:
    maps = (shared_map(graph, profile, schedule), register_map(profile, schedule))
    return tuple(map_ for map_ in maps if map_ is not None)


def _shares(utilisation: Mapping[str, float]) -> str:
    busiest = sorted(utilisation.items(), key=lambda item: -item[1])[:SHOWN_UNITS]
    return ", ".join(f"{unit} {share:.0%}" for unit, share in busiest)


def facts_of(simulation: Simulation) -> tuple[tuple[str, str], ...]:
    """Forecast time and its parts, in words."""
    facts = [
        ("Forecast of one launch", f"{simulation.nanoseconds / 1000:.1f} µs at {simulation.clock_mhz:g} MHz"),
        ("One iteration, steady state", f"{simulation.interval_cycles:.0f} cycles"),
        ("One block", f"{simulation.block_cycles:.0f} cycles"),
        ("Blocks per SM", str(simulation.blocks_per_sm)),
        ("Waves", f"{simulation.waves:.2f}"),
        ("Busiest", simulation.bottleneck),
    ]
    drawn = simulation.window_interval
    if drawn and abs(drawn - simulation.interval_cycles) > SAME * simulation.interval_cycles:
        words = f"{drawn:.0f} cycles: warpgroups take turns at the tensor core; the forecast also counts those that run in step"
        facts.append(("One iteration, as drawn", words))
    facts.append(("Utilisation, whole launch", _shares(simulation.utilisation)))
    if simulation.window_utilisation:
        facts.append(("Utilisation in the steady state, as drawn", _shares(simulation.window_utilisation)))
    stalls = sorted(simulation.stalls, key=lambda stall: -stall.share)[:4]
    if stalls:
        facts.append(("Stalls", ", ".join(f"{each.role} {each.cause} {each.share:.0%}" for each in stalls)))
    facts += [("Remark", reason) for reason in simulation.reasons]
    facts += [("Deadlock", who) for who in simulation.deadlock]
    return tuple(facts)
