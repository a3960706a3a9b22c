"""One schedule on one device as lanes, facts and memory maps: what the dashboard and the report both draw."""

from collections.abc import Sequence
from dataclasses import dataclass

from service.drawing.memory import MemoryMap, buffer_maps, register_map, shared_map
from service.drawing.timeline import Lane, Span
from solver.domain import (
    BufferSchedule,
    GraphError,
    HardwareProfile,
    KernelGraph,
    LoopSchedule,
    Schedule,
    Unit,
    WarpSchedule,
)
from solver.simulate import Simulation, TimelineEvent, simulate

__all__ = ["Drawn", "draw_schedule", "facts_of", "lanes_of", "loop_lanes"]

COPY_LANES = ("tma", "load", "store", "dram", "l2", "lsu", "mte", "hbm", "fixpipe")
SHOWN_INTERVALS = 8
SHOWN_ITERATIONS = 3
SHOWN_SPANS = 900


@dataclass(frozen=True, slots=True)
class Drawn:
    """What a page shows of a schedule."""

    lanes: tuple[Lane, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    maps: tuple[MemoryMap, ...] = ()


def draw_schedule(graph: KernelGraph, profile: HardwareProfile, schedule: Schedule) -> Drawn:
    """Lanes, facts and maps of one schedule on one device."""
    if isinstance(schedule, BufferSchedule):
        lanes = tuple(lane for loop in schedule.loops for lane in loop_lanes(graph, loop))
        return Drawn(lanes, (), buffer_maps(graph, profile, schedule))
    simulation = simulate(graph, profile, schedule)
    return Drawn(lanes_of(simulation), facts_of(simulation), _warp_maps(graph, profile, schedule))


def _warp_maps(graph: KernelGraph, profile: HardwareProfile, schedule: WarpSchedule) -> tuple[MemoryMap, ...]:
    maps = (shared_map(graph, profile, schedule), register_map(profile, schedule))
    return tuple(map_ for map_ in maps if map_ is not None)


def lanes_of(simulation: Simulation) -> tuple[Lane, ...]:
    """The prologue and the first iterations of one block: roles first, units below, each in order of appearance."""
    horizon = simulation.interval_cycles * SHOWN_INTERVALS
    events = [event for event in simulation.events if not horizon or event.start <= horizon][:SHOWN_SPANS]
    names = list(dict.fromkeys(event.lane for event in events))
    names.sort(key=lambda name: "." not in name)
    return tuple(Lane(name, tuple(_span(event) for event in events if event.lane == name)) for name in names)


def _span(event: TimelineEvent) -> Span:
    label = f"waits for {event.cause}" if event.cause else event.label
    return Span(round(event.start), max(round(event.end), round(event.start) + 1), label, _kind(event))


def _kind(event: TimelineEvent) -> str:
    if event.cause:
        return "stall"
    return "copy" if event.lane.lower().startswith(COPY_LANES) else "compute"


def facts_of(simulation: Simulation) -> tuple[tuple[str, str], ...]:
    """Forecast time and what fills it, in words."""
    facts = [
        ("Forecast of one launch", f"{simulation.nanoseconds / 1000:.1f} µs at {simulation.clock_mhz:g} MHz"),
        ("One iteration, steady state", f"{simulation.interval_cycles:.0f} cycles"),
        ("One block", f"{simulation.block_cycles:.0f} cycles"),
        ("Blocks an SM", str(simulation.blocks_per_sm)),
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


def loop_lanes(graph: KernelGraph, loop: LoopSchedule) -> tuple[Lane, ...]:
    """A loop's tasks on their pipes: some iterations, each one interval after the one before."""
    spans: dict[Unit, list[Span]] = {}
    interval = loop.initiation_interval_cycles
    for iteration in range(SHOWN_ITERATIONS if interval else 1):
        shift = iteration * (interval or 0)
        for task in loop.tasks:
            for use in _uses(graph, task.task):
                start = task.start_cycle + shift
                span = Span(start, start + max(1, use[1]), f"{task.task} ({iteration})", _pipe_kind(use[0]))
                spans.setdefault(use[0], []).append(span)
    return tuple(
        Lane(f"{loop.scope} {unit.value}", tuple(sorted(found, key=lambda span: span.start_cycle)))
        for unit, found in spans.items()
    )


def _uses(graph: KernelGraph, task: str) -> Sequence[tuple[Unit, int]]:
    try:
        return [(use.unit, use.cycles) for use in graph.op(task).uses]
    except GraphError:
        return []


def _pipe_kind(unit: Unit) -> str:
    return "copy" if unit.value.startswith(COPY_LANES) else "compute"
