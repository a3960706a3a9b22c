"""One schedule on one device as timelines, facts and memory maps, for pages and reports."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from warpwright.service.drawing.memory import MemoryMap, buffer_maps, register_map, shared_map
from warpwright.service.drawing.pipes import loop_timeline
from warpwright.service.drawing.timeline import Timeline, TimelineLane, TimelinePhase, TimelineSpan
from warpwright.solver.domain import ROOT, BufferSchedule, HardwareProfile, KernelGraph, Schedule, WarpSchedule
from warpwright.solver.forecast import Simulation, TimelineEvent, simulate

__all__ = ["Drawn", "block_timeline", "draw_schedule", "facts_of"]

COPY_LANES = ("tma", "load", "store", "dram", "l2", "lsu")
SHOWN_INTERVALS = 4
"""Iterations of the steady state that are shown, after the prologue."""
SHOWN_SPANS = 900


@dataclass(frozen=True, slots=True)
class Drawn:
    """A schedule as a page shows it."""

    timelines: tuple[Timeline, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    maps: tuple[MemoryMap, ...] = ()

    @property
    def end_cycle(self) -> int:
        """The end of the longest timeline."""
        return max((timeline.end_cycle for timeline in self.timelines), default=0)


def draw_schedule(graph: KernelGraph, profile: HardwareProfile, schedule: Schedule) -> Drawn:
    """Timelines, facts and maps of one schedule on one device."""
    if isinstance(schedule, BufferSchedule):
        timelines = tuple(loop_timeline(graph, schedule, loop) for loop in schedule.loops)
        return Drawn(tuple(each for each in timelines if each.lanes), (), buffer_maps(graph, profile, schedule))
    simulation = simulate(graph, profile, schedule)
    products = frozenset(op.id for op in graph.ops if op.gemm is not None)
    nested = any(scope.parent not in (None, ROOT) for scope in graph.scopes)
    timeline = block_timeline(simulation, products, nested=nested)
    return Drawn((timeline,) if timeline.lanes else (), facts_of(simulation), _warp_maps(graph, profile, schedule))


def _warp_maps(graph: KernelGraph, profile: HardwareProfile, schedule: WarpSchedule) -> tuple[MemoryMap, ...]:
    maps = (shared_map(graph, profile, schedule), register_map(profile, schedule))
    return tuple(map_ for map_ in maps if map_ is not None)


def block_timeline(simulation: Simulation, products: frozenset[str] = frozenset(), *, nested: bool = False) -> Timeline:
    """The prologue and the first steady iterations of one block: roles, units, and what roles wait for, by cause.

    ``products`` are the ids of the matrix products, for the tensor core's lane; ``nested`` says that the main loop is inside
    another one, and its steady state is that of a later pass.
    """
    begin, end = simulation.steady_cycles or (0.0, 0.0)
    horizon = begin + simulation.interval_cycles * SHOWN_INTERVALS
    mine = [event for event in simulation.events if "@" not in event.lane and (not horizon or event.start < horizon)]
    events = [replace(event, end=min(event.end, horizon)) if horizon else event for event in mine[:SHOWN_SPANS]]
    lanes = [
        *_lanes([event for event in events if not _of_unit(event)], "Roles"),
        *_products(events, products),
        *_lanes([event for event in events if _of_unit(event) and event.label not in products], "Units"),
        *_stall_lanes(events),
    ]
    phases: tuple[TimelinePhase, ...] = ()
    if end > begin:
        before = "prologue and first pass of the outer loop" if nested else "prologue"
        phases = (
            TimelinePhase(before, 0, round(begin)),
            TimelinePhase("steady state", round(begin), round(min(end, horizon))),
        )
    return Timeline(tuple(lanes), phases, "Timeline of one block, in cycles")


def _of_unit(event: TimelineEvent) -> bool:
    """Whether a unit works asynchronously to the role that started it: the simulator names its lane after the unit."""
    return event.label == event.lane or event.label.startswith(event.lane + " ")


def _products(events: Sequence[TimelineEvent], products: frozenset[str]) -> list[TimelineLane]:
    """The tensor core's lane: matrix products from their issue to their end, including the time in its queue."""
    found = [event for event in events if event.label in products]
    spans = tuple(TimelineSpan(*_ends(each), each.label, "compute", f"issued by {each.lane}") for each in found)
    return [TimelineLane("tensor core", spans, "Units")] if spans else []


def _lanes(events: Sequence[TimelineEvent], group: str) -> list[TimelineLane]:
    names = dict.fromkeys(event.lane for event in events)
    return [TimelineLane(name, tuple(_span(event) for event in events if event.lane == name), group) for name in names]


def _stall_lanes(events: Sequence[TimelineEvent]) -> list[TimelineLane]:
    """One lane for each cause: which role waits for it, and when."""
    causes = dict.fromkeys(event.cause for event in events if event.cause)
    return [
        TimelineLane(
            cause,
            tuple(
                TimelineSpan(*_ends(event), event.lane, "stall", f"{event.lane} waits for {_cause(cause)}")
                for event in events
                if event.cause == cause
            ),
            "Stalls by cause",
        )
        for cause in causes
    ]


def _cause(cause: str) -> str:
    side, _, pipeline = cause.partition(":")
    return f"the {side} barrier of pipeline {pipeline}" if pipeline else cause


def _ends(event: TimelineEvent) -> tuple[int, int]:
    return round(event.start), round(event.end)


def _span(event: TimelineEvent) -> TimelineSpan:
    label = f"waits for {event.cause}" if event.cause else event.label
    return TimelineSpan(*_ends(event), label, _kind(event))


def _kind(event: TimelineEvent) -> str:
    if event.cause:
        return "stall"
    return "copy" if event.lane.lower().startswith(COPY_LANES) else "compute"


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
    busy = sorted(simulation.utilisation.items(), key=lambda item: -item[1])[:4]
    facts.append(("Utilisation", ", ".join(f"{unit} {share:.0%}" for unit, share in busy)))
    stalls = sorted(simulation.stalls, key=lambda stall: -stall.share)[:4]
    if stalls:
        facts.append(("Stalls", ", ".join(f"{each.role} {each.cause} {each.share:.0%}" for each in stalls)))
    facts += [("Remark", reason) for reason in simulation.reasons]
    facts += [("Deadlock", who) for who in simulation.deadlock]
    return tuple(facts)
