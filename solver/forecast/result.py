"""The result of a simulation: the time, its parts, and the timeline. Forecasts, never measurements."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from warpwright.solver.device.occupancy import Footprint
from warpwright.solver.device.registers import Registers

__all__ = ["Simulation", "Stall", "TimelineEvent", "UnitLoad"]


@dataclass(frozen=True, slots=True)
class TimelineEvent:
    """One time span of a lane of one block, in cycles from its start.

    ``lane`` is a role's warpgroup (``consumer.0``) or a unit (``tma``). ``cause`` names what a waiting lane waits for
    (``full:a_b``, ``empty:a_b``, ``sync``), empty when the lane works. ``stream`` is who started it. ``used`` is the part of
    it in which the work uses units: before it waits for its turn or its data, after it drains; None for what uses none.
    """

    lane: str
    start: float
    end: float
    label: str
    cause: str = ""
    stream: str = ""
    used: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class UnitLoad:
    """A time span in which the same share of a unit of the SM is used, by all its resident blocks together."""

    start: float
    end: float
    share: float


@dataclass(frozen=True, slots=True)
class Stall:
    """Share of the steady state that a role's warpgroups wait for one cause, averaged over them."""

    role: str
    cause: str
    share: float


@dataclass(frozen=True, slots=True)
class Simulation:
    """A simulated schedule.

    ``cycles`` is one launch of the whole grid at the clock ``clock_mhz``; ``interval_cycles`` one iteration of the
    main loop in the steady state with ``blocks_per_sm`` blocks sharing an SM. ``deadlock`` lists who waits for
    what if nothing can continue; then the times are 0. ``reasons`` are remarks for a person.
    """

    cycles: float
    nanoseconds: float
    clock_mhz: float
    interval_cycles: float
    block_cycles: float
    waves: float
    blocks_per_sm: int
    utilisation: dict[str, float]
    stalls: tuple[Stall, ...]
    events: tuple[TimelineEvent, ...]
    deadlock: tuple[str, ...] = ()
    spilled_registers: int = 0
    serialised: bool = False
    dram_bytes: float = 0.0
    reasons: tuple[str, ...] = field(default_factory=tuple)
    footprint: Footprint | None = None
    """What one block takes of an SM, as the rules count it."""
    registers: Mapping[str, Registers] = field(default_factory=dict)
    """Need and budget by role, as the rules count them."""
    steady_cycles: tuple[float, float] | None = None
    """Begin and end of the main loop's steady state in the block's time; None without a loop."""
    window: tuple[float, float] | None = None
    """The iterations of the steady state that gave the interval; within ``steady_cycles``."""
    window_interval: float = 0.0
    """One iteration within ``window``; below ``interval_cycles`` where the forecast also counts warpgroups that run in step."""
    window_utilisation: Mapping[str, float] = field(default_factory=dict)
    """Busy share of each unit within ``window``, where warpgroups take turns at the tensor core: what a timeline shows."""
    loads: Mapping[str, tuple[UnitLoad, ...]] = field(default_factory=dict)
    """How much of each unit is used, and when; empty unless it was asked for."""
    settled: Mapping[str, float] = field(default_factory=dict)
    """Interval of every loop with enough iterations to settle, by scope, in cycles."""
    waits: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """By loop, the share of its interval that its busiest stream waits, by cause."""

    @property
    def deadlocked(self) -> bool:
        """Whether the schedule stopped before its end."""
        return bool(self.deadlock)

    @property
    def bottleneck(self) -> str:
        """The busiest unit, or ``latency`` if none is busy for 85 % of the time."""
        if not self.utilisation:
            return "none"
        unit = max(self.utilisation, key=lambda name: (self.utilisation[name], name))
        return unit if self.utilisation[unit] >= 0.85 else "latency"
