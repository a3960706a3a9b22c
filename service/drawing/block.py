"""One block in time: what each role does and waits for, what is in flight, and how much of each unit is used.

Three times are told apart. *Executing*: units are used. *Queued*: started, but its data or its turn has not come. *Draining*:
units are free again, but the result is not there yet. A wait is loud only if it costs: a role that multiplies waits for data. A
producer that has run ahead, and a role that waits for its own product, are calm.
"""

from collections.abc import Iterator, Sequence

from warpwright.service.drawing.timeline import Timeline, TimelineLane, TimelinePhase, TimelineSpan
from warpwright.solver.forecast import Simulation, TimelineEvent, UnitLoad

__all__ = ["UNITS", "block_timeline"]

ROLES, FLIGHT, UNITS, STALLS = "Roles", "In flight", "Units of the SM, share in use", "Stalls by cause"
COPYING = ("memory", "copy", "shared", "fill", "tma", "load", "store")
OWN_PRODUCTS = "wgmma"
"""The cause of a wait for the stream's own matrix products."""
SHOWN_SPANS = 2500
LEAST_SHARE = 0.005
"""A unit that is used less in the steady state has no lane."""


def block_timeline(simulation: Simulation, products: frozenset[str] = frozenset(), *, nested: bool = False) -> Timeline:
    """The prologue and the steady state of one block, to the end of the iterations that gave the interval.

    ``products`` are the ids of the matrix products; ``nested`` says that the main loop is inside another one, and its steady
    state is that of a later pass. The lanes of units show all blocks of the SM; their area is the busy time that the facts print.
    """
    begin, end = simulation.window or (0.0, 0.0)
    horizon = end or max((event.end for event in simulation.events), default=0.0)
    mine = [event for event in simulation.events if "@" not in event.stream and event.start < horizon]
    working = _working(mine, products)
    lanes = [
        *_roles(mine, working, horizon),
        *_in_flight(mine, products, horizon),
        *_units(simulation, horizon),
        *_stalls(mine, working, horizon),
    ]
    if sum(len(lane.spans) for lane in lanes) > SHOWN_SPANS:
        lanes = _late(lanes, begin)
    phases: tuple[TimelinePhase, ...] = ()
    if end > begin:
        steady = round((simulation.steady_cycles or (begin, end))[0])
        before = "prologue and first pass of the outer loop" if nested else "prologue"
        phases = (TimelinePhase(before, 0, steady), TimelinePhase("steady state", steady, round(end)))
    view = (round(begin), round(end)) if end > begin else None
    return Timeline(tuple(lanes), phases, "Timeline of one block, in cycles", view)


def _late(lanes: Sequence[TimelineLane], begin: float) -> list[TimelineLane]:
    """Without what ended before the steady state: a page cannot hold a long prologue span by span."""
    return [
        TimelineLane(lane.name, spans, lane.group)
        for lane in lanes
        if (spans := tuple(span for span in lane.spans if span.end_cycle > begin))
    ]


def _working(events: Sequence[TimelineEvent], products: frozenset[str]) -> frozenset[str]:
    """The streams whose waits cost: those that multiply, or that compute where nobody multiplies."""
    multiplying = {event.stream for event in events if event.label in products}
    return frozenset(multiplying or {event.stream for event in events if event.lane == event.stream and event.used})


def _roles(events: Sequence[TimelineEvent], working: frozenset[str], horizon: float) -> Iterator[TimelineLane]:
    names = dict.fromkeys(event.stream for event in events)
    for name in names:
        own = [event for event in events if event.lane == name]
        spans = [span for event in own for span in (_wait(event, working), *_parts(event)) if span is not None]
        yield from _lane(name, spans, ROLES, horizon)


def _in_flight(events: Sequence[TimelineEvent], products: frozenset[str], horizon: float) -> Iterator[TimelineLane]:
    """What runs beside the role that started it: a lane for each role's products, and for each bulk copy."""
    lanes: dict[str, list[TimelineSpan]] = {}
    for event in events:
        if event.lane != event.stream and not event.cause:
            name = f"products of {event.stream}" if event.label in products else event.label
            lanes.setdefault(name, []).extend(_parts(event))
    for name, spans in lanes.items():
        yield from _lane(name, spans, FLIGHT, horizon)


def _parts(event: TimelineEvent) -> Iterator[TimelineSpan]:
    """An event that works, as its queued, executing and draining parts; nothing for a wait."""
    if event.cause:
        return
    kind = "copy" if event.label.startswith(COPYING) else "compute"
    if event.used is None:
        yield _span(event.start, event.end, event.label, kind, f"started by {event.stream}")
        return
    begun, left = event.used
    words = (
        f"started by {event.stream} at {event.start:.0f}; queued {begun - event.start:.0f}, executing {left - begun:.0f}, "
        f"draining {event.end - left:.0f} cycles"
    )
    for start, end, which, prefix in (
        (event.start, begun, "queued", "queued: "),
        (begun, left, kind, ""),
        (left, event.end, "draining", "draining: "),
    ):
        if end - start >= 0.5:
            yield _span(start, end, prefix + event.label, which, words)


def _wait(event: TimelineEvent, working: frozenset[str]) -> TimelineSpan | None:
    if not event.cause:
        return None
    if event.cause == OWN_PRODUCTS:
        return _span(event.start, event.end, "waits for its product", "flight", "the tensor core works for it, or will")
    loud = event.stream in working
    words = "" if loud else "not needed yet: this role is ahead of the others, or they have nothing for it"
    return _span(event.start, event.end, f"waits for {event.cause}", "stall" if loud else "ahead", words)


def _units(simulation: Simulation, horizon: float) -> Iterator[TimelineLane]:
    """A lane for each unit, the busiest first; the height of a span is the share of the unit that is used."""
    used = {unit for unit in simulation.loads if simulation.window_utilisation.get(unit, 1.0) >= LEAST_SHARE}
    order = sorted(used, key=lambda unit: (-simulation.window_utilisation.get(unit, 0.0), unit))
    for unit in order:
        kind = "copy" if unit in COPYING else "compute"
        spans = [
            TimelineSpan(
                round(load.start), round(min(load.end, horizon)), f"{load.share:.0%}", kind, _used(load), load.share
            )
            for load in simulation.loads[unit]
            if load.start < horizon
        ]
        yield from _lane(unit.replace("_", " "), spans, UNITS, horizon)


def _used(load: UnitLoad) -> str:
    return f"{load.share:.1%} of the unit is used, by all blocks of the SM"


def _stalls(events: Sequence[TimelineEvent], working: frozenset[str], horizon: float) -> Iterator[TimelineLane]:
    """One lane for each cause of a wait that costs: which role waits for it, and when."""
    waits = [event for event in events if event.cause and event.cause != OWN_PRODUCTS and event.stream in working]
    for cause in dict.fromkeys(event.cause for event in waits):
        spans = [
            _span(event.start, event.end, event.stream, "stall", f"{event.stream} waits for {_cause(cause)}")
            for event in waits
            if event.cause == cause
        ]
        yield from _lane(cause, spans, STALLS, horizon)


def _lane(name: str, spans: Sequence[TimelineSpan], group: str, horizon: float) -> Iterator[TimelineLane]:
    """The lane up to the horizon; nothing without a span."""
    last = round(horizon)
    shown = tuple(
        TimelineSpan(span.start_cycle, min(span.end_cycle, last), span.label, span.kind, span.detail, span.share)
        for span in sorted(spans, key=lambda span: (span.start_cycle, span.end_cycle))
        if span.start_cycle < last
    )
    if shown:
        yield TimelineLane(name, shown, group)


def _span(start: float, end: float, label: str, kind: str, detail: str) -> TimelineSpan:
    return TimelineSpan(round(start), round(end), label, kind, detail)


def _cause(cause: str) -> str:
    side, _, pipeline = cause.partition(":")
    return f"the {side} barrier of pipeline {pipeline}" if pipeline else cause
