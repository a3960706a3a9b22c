"""From a proven bound to a time: what a launch could take at best, and each named loss on the way to forecast and measurement.

A certificate counts cycles of one iteration, a forecast microseconds of a launch; in between are losses inside the iteration,
blocks that do not fill the last wave, what is outside the loop, a clock that power holds down, and the launch itself. The steps
add up.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil

from warpwright.solver.device.machine import machine
from warpwright.solver.device.trips import count_trips
from warpwright.solver.domain import Certificate, HardwareProfile, KernelGraph
from warpwright.solver.forecast.result import Simulation

__all__ = ["WaterfallStep", "losses_between", "waterfall"]

LEAST_LOSS = 0.01
LEAST_NS = 0.5


@dataclass(frozen=True, slots=True)
class WaterfallStep:
    """One step: a level that is reached (``total``), or what is added on the way to the next one, in nanoseconds of a launch.

    ``cycles`` is the same in cycles of one iteration, for steps inside the loop; None for the others.
    """

    name: str
    nanoseconds: float
    total: bool = False
    cycles: float | None = None
    words: str = ""


def waterfall(
    graph: KernelGraph,
    profile: HardwareProfile,
    certificate: Certificate,
    simulation: Simulation,
    *,
    measured_ns: float | None = None,
    measured_mhz: float | None = None,
) -> tuple[WaterfallStep, ...]:
    """The steps of one schedule; nothing without a loop, or where the simulation stopped.

    ``measured_mhz`` is the clock under the measured load. Nothing else of a measurement is explained: the rest is named as such.
    """
    proven = certificate.initiation_interval_cycles
    device = machine(profile)
    trips = count_trips(graph, device.sms)
    loop = certificate.scope.loop if certificate.scope is not None else ""
    if loop not in simulation.settled:
        loop = max(simulation.settled, key=lambda scope: trips.total(scope) * simulation.settled[scope], default="")
    if proven is None or not loop or simulation.deadlocked:
        return ()
    settled, per_block = simulation.settled[loop], trips.total(loop)
    ns = 1e3 / device.clock
    full, started = simulation.waves, ceil(simulation.waves - 1e-9)
    spread = full * per_block * ns  # nanoseconds of one cycle of an iteration, with the blocks spread evenly
    steps = [*_inside(certificate, proven, settled, simulation, loop, spread)]
    looped = started * per_block * settled
    steps.append(
        WaterfallStep("last wave not full", (started - full) * per_block * settled * ns, words=f"{full:.2f} waves")
    )
    steps.append(
        WaterfallStep(
            "outside the loop", (simulation.cycles - looped) * ns, words="prologue, filling, epilogue, stores"
        )
    )
    slow = simulation.cycles * (1e3 / simulation.clock_mhz - ns)
    steps.append(
        WaterfallStep("clock held down by power", slow, words=f"{simulation.clock_mhz:,.0f} of {device.clock:,.0f} MHz")
    )
    steps.append(WaterfallStep("launch", device.launch_ns))
    kept = [step for step in steps if step.total or abs(step.nanoseconds) >= LEAST_NS]
    kept.append(WaterfallStep("forecast", simulation.nanoseconds, total=True, cycles=settled))
    return (*kept, *_measured(simulation, measured_ns, measured_mhz))


def _inside(
    certificate: Certificate, proven: int, settled: float, played: Simulation, loop: str, spread: float
) -> Iterator[WaterfallStep]:
    """The bound, what the schedule's interval is above it, and what the play of the schedule loses."""
    scope, bound = certificate.scope, certificate.lower_bound
    anywhere = scope.anywhere if scope is not None and scope.anywhere is not None else None
    if anywhere is not None and anywhere.cycles < bound.cycles:
        yield WaterfallStep("bound of every schedule", anywhere.cycles * spread, True, anywhere.cycles, anywhere.reason)
        above = bound.cycles - anywhere.cycles
        yield WaterfallStep(
            "choices of this schedule", above * spread, cycles=above, words=f"bound {bound.cycles:,} ({bound.reason})"
        )
    else:
        words = f"{bound.reason}" + ("" if scope is not None else "; what it holds for was not recorded")
        yield WaterfallStep("proven bound", bound.cycles * spread, True, bound.cycles, words)
    if proven > bound.cycles:
        yield WaterfallStep(
            "not proven", (proven - bound.cycles) * spread, cycles=proven - bound.cycles, words=f"II {proven:,}"
        )
    lost = losses_between(proven, settled, played, loop)
    for cause, share in lost.items():
        yield WaterfallStep(cause, share * settled * spread, cycles=share * settled)
    rest = settled - proven - sum(lost.values()) * settled
    if abs(rest) >= 1.0:
        yield WaterfallStep("small losses", rest * spread, cycles=rest)


def losses_between(proven: int, settled: float, played: Simulation, loop: str) -> dict[str, float]:
    """Shares of the forecast's interval that are not in the proven one, by cause: what the play's streams wait for, scaled to
    what is missing; the rest is lost to units that several streams use at once.
    """
    missing = 1.0 - proven / settled
    if missing < LEAST_LOSS:
        return {}
    waits = {cause: share for cause, share in played.waits.get(loop, {}).items() if share >= LEAST_LOSS}
    scale = min(1.0, missing / sum(waits.values())) if waits else 0.0
    named = {f"waits for {cause}": round(share * scale, 3) for cause, share in waits.items()}
    rest = missing - sum(named.values())
    return named | ({"units shared between streams": round(rest, 3)} if rest >= LEAST_LOSS else {})


def _measured(simulation: Simulation, measured_ns: float | None, measured_mhz: float | None) -> Iterator[WaterfallStep]:
    if measured_ns is None:
        return
    left = measured_ns - simulation.nanoseconds
    if measured_mhz:
        clock = simulation.cycles * 1e3 * (1 / measured_mhz - 1 / simulation.clock_mhz)
        words = f"{measured_mhz:,.0f} MHz after the run, the forecast has {simulation.clock_mhz:,.0f}"
        yield WaterfallStep("clock as measured", clock, words=words)
        left -= clock
    yield WaterfallStep("not in the model", left, words="what the forecast does not know")
    yield WaterfallStep("measured", measured_ns, total=True)
