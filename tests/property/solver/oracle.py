"""Small random kernels and an oracle that finds their best schedule by trying every one, with no engine and no model.

The oracle builds schedules from the placement alone, keeps those that the verifier accepts, and times them with the plain
event graph. It shares the rules' statements with the solver, and nothing of the search.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from hypothesis import strategies as st

from tests.kernels import Sketch
from warpwright.solver.device.shared_memory import area_bytes, shared_buffers
from warpwright.solver.domain.kernel import KernelGraph, Memory, OpKind, Unit, UnitUse
from warpwright.solver.domain.pins import DepthPin, Pins, PipelinePin, RolePin
from warpwright.solver.domain.profile import HardwareProfile
from warpwright.solver.domain.schedule import Pipeline, WarpSchedule
from warpwright.solver.profiles import load_profile
from warpwright.solver.warp.fallback_schedules import simple_schedule
from warpwright.solver.warp.layout.structure import structure_of
from warpwright.solver.warp.problem import WarpProblem, close_problem
from warpwright.solver.warp.schedule_reader import Reading
from warpwright.solver.warp.settled import steps_late_of
from warpwright.solver.warp.timing import loop_times
from warpwright.solver.warp.verify import violations

__all__ = ["WIDTHS", "Choice", "best_by_trying", "choices", "judge", "pins_of", "schedule_of", "small_problems"]

Choice = tuple[tuple[int, ...], tuple[tuple[int, ...], ...], int, tuple[int, int]]
"""Depth of every channel, channels of every pipeline, consumer warpgroups, budgets of helper and consumer."""
WIDTHS = (1, 2)


H200 = load_profile("h200")
BUDGETS = ((24, 240), (24, 160), (40, 232), (0, 0))


@st.composite
def small_graphs(draw: st.DrawFn) -> KernelGraph:
    """One loop with one to three loads, a product and some arithmetic; costs of a few cycles."""
    groups = draw(st.integers(1, 2))
    sketch = Sketch("random", 128 * groups)
    bm, bn = 64 * groups, draw(st.sampled_from([64, 128, 256]))
    loads = draw(st.integers(1, 3))
    names = [f"S{n}" for n in range(loads)]
    for name in names:
        sketch.buffer(name, Memory.SHARED, (draw(st.sampled_from([64, 128, 256, 512])), 64))
    sketch.buffer("acc", Memory.FRAGMENT, (bm, bn), "float32")
    extra = draw(st.booleans())
    if extra:
        sketch.buffer("Tile", Memory.SHARED, (draw(st.sampled_from([64, 256, 512])), 128))
    sketch.fill("clear", "acc")
    sketch.loop("k", draw(st.sampled_from([1, 2, 3, 8, None])))
    for name in names:
        sketch.load(f"copy_{name}", name, "k", source=f"G{name}")
    second = names[-1]
    if draw(st.booleans()):
        sketch.each("before", ["acc"], ["acc"], "k", floats=1)
    sketch.gemm("mma", names[0], names[min(1, loads - 1)], "acc", (bm, bn, 64), "k", policy="fullrow")
    if loads == 3:
        sketch.gemm("again", names[0], second, "acc", (bm, bn, 64), "k", policy="fullrow")
    if extra:
        sketch.copy("stage", "acc", "Tile")
    return _cheap(sketch.graph(), draw)


def _cheap(graph: KernelGraph, draw: st.DrawFn) -> KernelGraph:
    """The same graph with costs of a few cycles, so that every number of the problem is small."""
    ops = []
    for op in graph.ops:
        busy = draw(st.integers(1, 6))
        unit = Unit.TMA if op.kind is OpKind.TMA_LOAD else Unit.TENSOR_CORE if op.gemm else Unit.ALU
        latency = busy + draw(st.integers(0, 9))
        ops.append(replace(op, latency_cycles=latency, uses=(UnitUse(unit, busy),)))
    return replace(graph, ops=tuple(ops))


@st.composite
def small_problems(draw: st.DrawFn) -> WarpProblem:
    """A small graph on a device with a drawn amount of shared memory and short barriers."""
    graph = draw(small_graphs())
    problem = close_problem(graph, device(draw(st.sampled_from([96, 160, 227]))))
    return problem.on(replace(problem.device, barrier_latency_cycles=draw(st.integers(0, 3))))


def device(kib: int) -> HardwareProfile:
    """An H200 with this much shared memory a block."""
    quantities = tuple(
        replace(quantity, value=kib * 1024) if quantity.path == "shared.per_block" else quantity
        for quantity in H200.quantities
    )
    return replace(H200, quantities=quantities)


def groupings(count: int) -> list[tuple[tuple[int, ...], ...]]:
    """Every way to split this many channels over pipelines."""
    if count == 0:
        return [()]
    made = []
    for smaller in groupings(count - 1):
        made.append((*smaller, (count - 1,)))
        for place, members in enumerate(smaller):
            made.append((*smaller[:place], (*members, count - 1), *smaller[place + 1 :]))
    return made


def choices(problem: WarpProblem, most: int) -> Iterator[Choice]:
    """Every combination of depths up to ``most``, grouping, width and budgets."""
    count = len(structure_of(problem).channels)
    for grouping in groupings(count):
        for by_group in product(range(1, most + 1), repeat=len(grouping)):
            depths = {n: depth for members, depth in zip(grouping, by_group, strict=True) for n in members}
            for groups, budgets in product(WIDTHS, BUDGETS):
                yield tuple(depths[n] for n in range(count)), grouping, groups, budgets


def pins_of(problem: WarpProblem, choice: Choice) -> Pins:
    """The pins that say the same as a choice."""
    depths, grouping, groups, (helper, consumer) = choice
    buffers = [channel.buffer for channel in structure_of(problem).channels]
    return Pins(
        depths=tuple(DepthPin(buffer, depth) for buffer, depth in zip(buffers, depths, strict=True)),
        pipelines=tuple(PipelinePin(tuple(buffers[n] for n in members)) for members in grouping),
        roles=(RolePin("consumer", registers_per_thread=consumer), RolePin("load", registers_per_thread=helper)),
        consumer_warpgroups=groups,
    )


def schedule_of(problem: WarpProblem, choice: Choice) -> WarpSchedule:
    """The schedule of a choice: source order, spans as tight as they go."""
    depths, grouping, groups, (helper, consumer) = choice
    channels = structure_of(problem).channels
    pipelines = [
        (
            Pipeline(
                "_".join(channels[n].name for n in members),
                tuple(channels[n].buffer for n in members),
                depths[members[0]],
            ),
            members,
        )
        for members in grouping
    ]
    return simple_schedule(problem, groups, helper, consumer, pipelines)


def judge(problem: WarpProblem, schedule: WarpSchedule) -> tuple[int, int, int, int, int]:
    """Interval, steps late, shared bytes, length and synchronisations: the levels of the objective, without an engine."""
    reading = Reading(problem, schedule)
    (time,) = loop_times(reading)
    size = sum(area_bytes(problem.graph, b.bytes, reading.versions(b.name)) for b in shared_buffers(problem.graph))
    return time.interval, steps_late_of(reading), size, time.length, 4 * len(schedule.pipelines)


def best_by_trying(problem: WarpProblem, most: int) -> tuple[int, int, int, int, int] | None:
    """The best judgement of all legal choices: the shortest interval, and among equal ones the kernel's own width. None when
    none is legal.
    """
    found: list[tuple[tuple[int, bool], tuple[int, int, int, int, int]]] = []
    for choice in choices(problem, most):
        schedule = schedule_of(problem, choice)
        if not violations(problem, schedule):
            judged = judge(problem, schedule)
            found.append(((judged[0], choice[2] != problem.graph.threads // 128), judged))
    return min(found)[1] if found else None
