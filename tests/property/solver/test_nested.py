"""Random kernels with a use after the inner loop: nested pipelines by search are the best of all pairs of depths."""

from dataclasses import replace
from itertools import product

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.kernels import Sketch
from warpwright.solver.device.shared_memory import holders
from warpwright.solver.domain.kernel import KernelGraph, Memory, Unit, UnitUse
from warpwright.solver.domain.schedule import WarpSchedule
from warpwright.solver.domain.verdict import ProvenOptimal
from warpwright.solver.profiles import load_profile
from warpwright.solver.warp.problem import WarpProblem, close_problem
from warpwright.solver.warp.schedule_reader import Reading
from warpwright.solver.warp.settled import steps_late_of
from warpwright.solver.warp.solve import solve
from warpwright.solver.warp.timing import loop_times
from warpwright.solver.warp.verify import violations

H200 = load_profile("h200")


@st.composite
def nests(draw: st.DrawFn) -> KernelGraph:
    """Two loops of a few trips around one load; the last tile is used again after the inner one."""
    s = Sketch("nest", 128)
    s.buffer("As", Memory.SHARED, (draw(st.sampled_from([64, 256, 512])), 64))
    s.buffer("acc", Memory.FRAGMENT, (64, 64), "float32")
    s.fill("clear", "acc")
    s.loop("outer", draw(st.integers(1, 3)))
    s.loop("inner", draw(st.integers(1, 3)), "outer")
    s.load("next", "As", "inner", source="A")
    s.gemm("mma", "As", "As", "acc", (64, 64, 64), "inner")
    s.each("last", ["As", "acc"], ["acc"], "outer")
    costs = {"next": (Unit.TMA, 9, 40), "mma": (Unit.TENSOR_CORE, 12, 4), "last": (Unit.ALU, 30, 5)}
    graph = s.graph()
    ops = []
    for op in graph.ops:
        if op.id in costs:
            unit, most, late = costs[op.id]
            busy = draw(st.integers(1, most))
            op = replace(op, uses=(UnitUse(unit, busy),), latency_cycles=busy + draw(st.integers(0, late)))
        ops.append(op)
    return replace(graph, ops=tuple(ops))


def judged(problem: WarpProblem, schedule: WarpSchedule) -> tuple[int, ...]:
    """Intervals, inner loop first, steps that rings are late, bytes of the buffer: the first levels of the objective."""
    reading = Reading(problem, schedule)
    late = steps_late_of(reading)
    return (*(time.interval for time in loop_times(reading)), late, dict(holders(problem.graph, schedule))["As"])


def with_depths(schedule: WarpSchedule, outer: int, inner: int) -> WarpSchedule:
    depths = {"as_in_outer": outer, "as": inner}
    return replace(schedule, pipelines=tuple(replace(p, depth=depths[p.name]) for p in schedule.pipelines))


@pytest.mark.parametrize("engine", ["cpsat", "z3"])
@settings(max_examples=5, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(graph=nests())
def test_no_pair_of_depths_is_better(engine: str, graph: KernelGraph) -> None:
    problem = close_problem(graph, H200)
    problem = problem.on(replace(problem.device, barrier_latency_cycles=2))
    found = solve(problem, engine=engine)
    assert isinstance(found, ProvenOptimal)
    assert isinstance(found.schedule, WarpSchedule)
    candidates = [with_depths(found.schedule, *pair) for pair in product(range(1, 4), range(1, 10))]
    legal = [schedule for schedule in candidates if not violations(problem, schedule)]
    assert judged(problem, found.schedule) == min(judged(problem, schedule) for schedule in legal)
