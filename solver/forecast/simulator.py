"""Simulates a kernel on a device: one SM with its resident blocks exactly, then waves over all SMs, clock and launch.

The steady state of the innermost loop is simulated for some iterations and extrapolated by its interval; fills, drains,
prologue and epilogue are simulated completely.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from math import ceil

from warpwright.solver.device.limits import WARP_THREADS
from warpwright.solver.device.machine import Machine, machine
from warpwright.solver.device.occupancy import Footprint, blocks_per_sm
from warpwright.solver.device.operation_costs import TENSOR_QUEUE, OperationCosts
from warpwright.solver.device.registers import Registers
from warpwright.solver.device.shared_memory import block_bytes
from warpwright.solver.device.tensor_memory import allocated_columns, tensor_buffers
from warpwright.solver.device.traffic import misses
from warpwright.solver.domain import HardwareProfile, KernelGraph, Pins, WarpSchedule
from warpwright.solver.forecast.events import EventSimulation, Stream
from warpwright.solver.forecast.loops import Loops, loops_of
from warpwright.solver.forecast.program import BlockProgram
from warpwright.solver.forecast.result import Simulation, Stall
from warpwright.solver.warp.problem import close_problem
from warpwright.solver.warp.registers import entry_of, role_registers
from warpwright.solver.warp.schedule_reader import Reading
from warpwright.solver.warp.timing import loops_by_weight

__all__ = ["PlayableKernel", "iterations", "play", "simulate"]

MEASURED = 6
"""Innermost iterations that give the interval, after the pipelines are full and before the loads end."""
TIMELINE_EVENTS = 400
TRACED_EVENTS = 20_000
ALIKE = 0.98
"""Streams whose intervals differ by less have the same one."""
UNITS = ("tensor_core", "shared", "sfu", "alu", "fill", "memory", "copy")

StreamBuilder = Callable[[Mapping[str, float], int], list[Stream]]


@dataclass(frozen=True, slots=True)
class PlayableKernel:
    """A kernel ready for simulation: its loops, its footprint, and how to make the streams of one resident block."""

    graph: KernelGraph
    loops: Loops
    footprint: Footprint
    build: StreamBuilder
    ahead: int
    """Iterations by which loads run ahead: the depth of the deepest pipeline."""
    registers: Mapping[str, Registers] = field(default_factory=dict)
    """Need and budget by role."""
    reasons: tuple[str, ...] = ()

    @property
    def spilled(self) -> int:
        """Most registers of a thread that do not fit, over the roles."""
        return max((need.spilled for need in self.registers.values()), default=0)


@dataclass(frozen=True, slots=True)
class _Settled:
    """A loop as it was played: interval with the loops in it, unit rates, place in time, and waits of its busiest stream."""

    interval: float
    rates: dict[str, float]
    steady: tuple[float, float]
    window: tuple[float, float]
    """The iterations that gave the interval and the rates."""
    played: float
    """The interval in this play; ``interval`` may be mixed from two."""
    waits: dict[str, float]
    settles: bool
    """Whether there were enough iterations for the pipelines to fill before it was measured."""


@dataclass(frozen=True, slots=True)
class _Played:
    cycles: float
    loops: dict[str, _Settled]
    busy: dict[str, float]
    engine: EventSimulation


def iterations(ahead: int) -> int:
    """Innermost iterations to simulate: the pipelines fill, the interval is measured, the pipelines drain."""
    return 2 * ahead + MEASURED + 4


def simulate(
    graph: KernelGraph, profile: HardwareProfile, schedule: WarpSchedule, *, traced: bool = False
) -> Simulation:
    """Forecast of one launch of ``graph`` under ``schedule``; ``traced`` for a drawing, which needs more than the times.

    Raises:
        ProfileError: the profile lacks a number that every simulation needs (it is not a CUDA device).
        GraphError: the schedule names an operation, buffer or scope that the graph does not have.
    """
    device = machine(profile)
    ahead = max((pipeline.depth for pipeline in schedule.pipelines), default=1)
    costs = OperationCosts(graph, device)
    reading = Reading(close_problem(replace(graph, pins=Pins()), profile), schedule)
    loops = loops_of(graph, device.sms, iterations(ahead), next(iter(loops_by_weight(reading.problem)), ""))
    registers = role_registers(reading)
    versions = {buffer.name: reading.versions(buffer.name) for buffer in tensor_buffers(graph)}
    footprint = Footprint(
        WARP_THREADS * schedule.num_warps,
        entry_of(reading),
        block_bytes(graph, schedule),
        allocated_columns(graph, device.limits, versions),
    )

    def build(miss: Mapping[str, float], index: int) -> list[Stream]:
        spilled = {name: need.spilled for name, need in registers.items()}
        return BlockProgram(graph, schedule, costs, loops, miss, spilled, index).streams()

    return play(
        PlayableKernel(graph, loops, footprint, build, ahead, registers, _remarks(registers)), device, traced=traced
    )


def play(block: PlayableKernel, device: Machine, *, traced: bool = False) -> Simulation:
    """Simulates a block on an SM at every occupancy of its launch, and combines them to the launch."""
    reasons = list(block.reasons)
    occupancy = blocks_per_sm(device.limits, block.footprint)
    if occupancy == 0:
        reasons.append(
            f"no block fits an SM: {block.footprint.shared_bytes} bytes of shared memory, "
            f"{block.footprint.threads} threads of {block.footprint.registers_per_thread} registers"
        )
        occupancy = 1
    if block.loops.counted.estimated:
        reasons.append("estimated extents: " + ", ".join(block.loops.counted.estimated))
    total = block.loops.counted.blocks
    occupancy = max(1, min(occupancy, ceil(total / device.sms)))
    slots = device.sms * occupancy
    miss = misses(block.graph, block.loops.counted, min(total, slots), device.l2_capacity)
    full = _play_sm(block, device, miss, occupancy, traced=traced)
    if full.engine.stuck():
        return _deadlock(full.engine, occupancy, block)
    whole_waves, rest = divmod(total, slots)
    cycles = whole_waves * full.cycles
    waves = float(whole_waves)
    if rest:
        crowd = ceil(rest / device.sms)
        last = full if crowd == occupancy else _play_sm(block, device, miss, crowd)
        cycles += last.cycles
        waves += rest / slots
    lasted = max(full.cycles, 1.0)  # a kernel without costs takes no time; its units are idle, not undefined
    busy = {unit: full.busy.get(unit, 0.0) / lasted * (total / slots) / max(1, ceil(total / slots)) for unit in UNITS}
    clock = _clock(device, busy)
    headline = _headline(block.loops, full)
    return Simulation(
        cycles=cycles,
        nanoseconds=cycles * 1e3 / clock + device.launch_ns,
        clock_mhz=clock,
        interval_cycles=0.0 if headline is None else headline.interval,
        block_cycles=full.cycles,
        waves=waves,
        blocks_per_sm=occupancy,
        utilisation={unit: full.busy.get(unit, 0.0) / lasted for unit in UNITS if full.busy.get(unit)},
        stalls=_stalls(full.engine),
        events=tuple(sorted(full.engine.events, key=lambda event: (event.start, event.lane))),
        spilled_registers=block.spilled,
        serialised=block.spilled > 0,
        dram_bytes=full.busy.get("memory", 0.0) * device.memory_bytes * total / occupancy,
        reasons=tuple(reasons),
        footprint=block.footprint,
        registers=block.registers,
        steady_cycles=None if headline is None else headline.steady,
        window=None if headline is None else headline.window,
        window_interval=0.0 if headline is None else headline.played,
        window_utilisation={} if headline is None else headline.rates,
        loads={unit: tuple(spans) for unit, spans in full.engine.loads.items()},
        settled={scope: one.interval for scope, one in full.loops.items() if one.settles},
        waits={scope: one.waits for scope, one in full.loops.items()},
    )


def _play_sm(
    block: PlayableKernel, device: Machine, miss: Mapping[str, float], occupancy: int, *, traced: bool = False
) -> _Played:
    """One SM with this many blocks, simulated with products that take turns and, in part, run side by side.

    A kernel does not determine how far warpgroups drift apart. If they take turns at the tensor core, one computes while
    another multiplies; in step, all multiply and then all compute. Hardware is in between (``phase``).
    """
    turns = _play_once(block, device, miss, occupancy, frozenset(), traced=traced)
    width = sum(stream.marks != {} for stream in turns.engine.streams)
    if device.phase <= 0.0 or width <= 1 or turns.engine.stuck():
        return turns
    together = _play_once(block, device, miss, occupancy, frozenset({TENSOR_QUEUE}))

    def mix(first: float, second: float) -> float:
        return first + device.phase * (second - first)

    units = sorted(set(turns.busy) | set(together.busy))
    return _Played(
        mix(turns.cycles, together.cycles),
        {
            scope: replace(one, interval=mix(one.interval, together.loops[scope].interval))
            for scope, one in turns.loops.items()
            if scope in together.loops
        },
        {unit: mix(turns.busy.get(unit, 0.0), together.busy.get(unit, 0.0)) for unit in units},
        turns.engine,
    )


def _play_once(
    block: PlayableKernel,
    device: Machine,
    miss: Mapping[str, float],
    occupancy: int,
    side_by_side: frozenset[str],
    *,
    traced: bool = False,
) -> _Played:
    """Time from the blocks' common start to the last one's end, extrapolated to the real length."""
    streams: list[Stream] = []
    for index in range(occupancy):
        for stream in block.build(miss, index):
            stream.start = device.block_cycles * (index + 1)
            streams.append(stream)
    kept = TRACED_EVENTS if traced else TIMELINE_EVENTS
    engine = EventSimulation(streams, side_by_side=side_by_side, timeline=kept, traced=traced)
    cycles = engine.run()
    busy = dict(engine.busy)
    found: dict[str, _Settled] = {}
    for scope in block.loops.inner_first():
        one = _interval(engine, scope, block.loops.played[scope], block.ahead)
        if one is None:
            continue
        counted, inside = block.loops.counted, block.loops.children(scope)
        nested = {child: found[child].interval for child in inside if child in found}
        own = max(0.0, one.interval - sum(block.loops.played[child] * each for child, each in nested.items()))
        left = counted.total(scope) - block.loops.played[scope] * block.loops.played_entries(scope)
        cycles += left * own
        share = own / one.interval
        for unit, rate in one.rates.items():
            busy[unit] = busy.get(unit, 0.0) + rate * left * one.interval * share
        whole = own + sum(counted.by_scope[child] * each for child, each in nested.items())
        found[scope] = replace(one, interval=whole)
    return _Played(cycles, found, busy, engine)


def _interval(engine: EventSimulation, scope: str, played: int, ahead: int) -> _Settled | None:
    """Interval of a loop as it was played, from the slowest stream: the last ``ahead`` steps load nothing."""
    found: list[_Settled] = []
    for stream in engine.streams:
        last = min(played - 1, max((step for loop, step in stream.marks if loop == scope), default=-1))
        if last < 1:
            continue
        settles = last > MEASURED + ahead
        end = max(1, last - ahead) if settles else last
        begin = max(0, end - MEASURED)
        start, stop = stream.marks[(scope, begin)], stream.marks[(scope, end)]
        length, count = stop - start, end - begin
        if length <= 0:
            continue
        later, earlier = (engine.snapshots[(f"{stream.name}/{scope}", step)] for step in (end, begin))
        rates = {unit: (later[unit] - earlier.get(unit, 0.0)) / length for unit in later}
        waits: dict[str, float] = {}
        for waited, until, cause in stream.stalls:
            lasted = min(until, stop) - max(waited, start)
            if lasted > 0:
                waits[cause] = waits.get(cause, 0.0) + lasted / length
        steady = (_steady_from(stream, scope, begin, length / count), stop)
        found.append(_Settled(length / count, rates, steady, (start, stop), length / count, waits, settles))
    if not found:
        return None
    slowest = max(found, key=lambda one: one.interval)
    # All streams have the same interval; one that waits for another says nothing about why.
    busiest = min(found, key=lambda one: (one.interval < slowest.interval * ALIKE, sum(one.waits.values())))
    return replace(slowest, waits=busiest.waits)


def _headline(loops: Loops, played: _Played) -> _Settled | None:
    """The loop that a certificate is about if it was played, else the one with most cycles; None without a loop."""
    if loops.headline in played.loops:
        return played.loops[loops.headline]
    innermost = [scope for scope in played.loops if not loops.children(scope)]
    if not innermost:
        return None
    return played.loops[max(innermost, key=lambda scope: loops.counted.total(scope) * played.loops[scope].interval)]


def _steady_from(stream: Stream, scope: str, begin: int, interval: float) -> float:
    """Begin of the steady state: the earliest step from which on all steps up to ``begin`` last equally long, within 5 %."""
    while begin > 0:
        lasted = stream.marks[(scope, begin)] - stream.marks[(scope, begin - 1)]
        if abs(lasted - interval) > interval / 20:
            break
        begin -= 1
    return stream.marks[(scope, begin)]


def _clock(device: Machine, busy: Mapping[str, float]) -> float:
    """The clock that the power limit leaves: dynamic power grows with the third power of the clock (voltage follows it)."""
    dynamic = device.power_tensor * busy["tensor_core"] + device.power_shared * busy["shared"]
    if device.power_static + dynamic <= 1.0 or dynamic <= 0.0:
        return device.clock
    return float(device.clock * ((1.0 - device.power_static) / dynamic) ** (1 / 3))


def _stalls(engine: EventSimulation) -> tuple[Stall, ...]:
    """Shares of the simulated time that each role's streams waited, by cause."""
    total = max(engine.now, 1.0)
    sums: dict[tuple[str, str], float] = {}
    members: dict[str, int] = {}
    for stream in engine.streams:
        members[stream.role] = members.get(stream.role, 0) + 1
        for start, end, cause in stream.stalls:
            sums[(stream.role, cause)] = sums.get((stream.role, cause), 0.0) + end - start
    found = [Stall(role, cause, value / total / members[role]) for (role, cause), value in sums.items()]
    return tuple(sorted(found, key=lambda stall: (-stall.share, stall.role, stall.cause)))


def _deadlock(engine: EventSimulation, occupancy: int, block: PlayableKernel) -> Simulation:
    return Simulation(
        cycles=0.0,
        nanoseconds=0.0,
        clock_mhz=0.0,
        interval_cycles=0.0,
        block_cycles=0.0,
        waves=0.0,
        blocks_per_sm=occupancy,
        utilisation={},
        stalls=_stalls(engine),
        events=(),
        deadlock=engine.stuck(),
        reasons=("deadlock",),
        footprint=block.footprint,
        registers=block.registers,
    )


def _remarks(registers: Mapping[str, Registers]) -> tuple[str, ...]:
    return tuple(
        f"role {name} needs about {need.needed} registers and has {need.budget}: matrix products are serialised"
        for name, need in registers.items()
        if need.spilled
    )
