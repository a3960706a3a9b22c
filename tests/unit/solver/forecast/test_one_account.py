"""One account of time: no forecast is below what is proven, for any schedule that may be a candidate."""

from itertools import islice

import pytest

from tests import kernels
from tests.unit.solver.forecast.test_in_flight import schedules
from warpwright.solver.domain import KernelGraph, OpKind, Pins, PlacementPin
from warpwright.solver.domain.profile import HardwareProfile
from warpwright.solver.forecast import simulate
from warpwright.solver.profiles import load_profile
from warpwright.solver.warp.bounds import lower_bounds
from warpwright.solver.warp.every_schedule import bound_of_every_schedule
from warpwright.solver.warp.fallback_schedules import baselines
from warpwright.solver.warp.problem import close_problem
from warpwright.solver.warp.schedule_reader import Reading
from warpwright.solver.warp.timing import loop_times
from warpwright.solver.warp.verify import violations

H200, B200 = load_profile("h200"), load_profile("b200")


@pytest.mark.parametrize(
    ("graph", "profile", "widths"),
    [
        (kernels.gemm(), H200, (2,)),
        (kernels.gemm(128, 128), H200, (1, 2)),
        (kernels.gemm(192, 192, threads=384), H200, (3,)),
        (kernels.attention(), H200, (2,)),
        (kernels.attention(192, 128, threads=384), H200, (3,)),
        (kernels.gemm_in_pairs(bk=64), H200, (2,)),
        (kernels.two_gemms(), H200, (2,)),
        (kernels.persistent_gemm(trips=64), H200, (2,)),
        (kernels.blackwell_gemm(), B200, (1,)),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_no_candidate_is_forecast_below_its_bound(
    graph: KernelGraph, profile: HardwareProfile, widths: tuple[int, ...]
) -> None:
    problem, checked = close_problem(graph, profile), 0
    for groups in widths:
        bounds = lower_bounds(problem, groups)
        for name, schedule in schedules(graph, profile, groups).items():
            if violations(problem, schedule):
                continue
            reading = Reading(problem, schedule)
            headline, *_ = times = loop_times(reading)
            played = simulate(graph, profile, schedule)
            for time in times:
                assert time.interval >= bounds[time.scope][0].cycles, (name, time)
                assert played.settled.get(time.scope, time.interval) >= time.interval - 1e-6, (name, time)
            assert headline.scope == next(iter(bounds))
            assert played.block_cycles >= bounds[headline.scope][0].cycles * problem.trips.total(headline.scope), name
            checked += headline.scope in played.settled
    assert checked, "no schedule settles"


@pytest.mark.parametrize(
    ("graph", "profile"),
    [
        (kernels.gemm(), B200),
        (kernels.gemm(128, 128), H200),
        (kernels.attention(), H200),
        (kernels.attention(), B200),
        (kernels.gemm_in_pairs(bk=64), H200),
        (kernels.filled_twice(), H200),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_no_schedule_with_loads_in_the_consumer_is_forecast_below_its_bound(
    graph: KernelGraph, profile: HardwareProfile
) -> None:
    """What a role copies by its threads, it copies behind its products: warpgroups do not take turns at it."""
    free = close_problem(graph, profile)
    every, checked = bound_of_every_schedule(free), 0
    loads = [op.id for op in graph.ops if op.kind is OpKind.TMA_LOAD and op.scope == "k"]
    for moved in (loads[:1], loads[1:], loads):
        problem = free.with_pins(Pins(placements=tuple(PlacementPin(op, "consumer") for op in moved)))
        for schedule in islice((each for each in baselines(problem) if not violations(free, each)), 2):
            (time, *_) = loop_times(Reading(free, schedule))
            assert every is None or time.interval >= every.cycles
            assert simulate(graph, profile, schedule).settled.get("k", time.interval) >= time.interval - 1e-6
            checked += 1
    assert checked


def test_the_forecast_of_a_gemm_settles_within_a_tenth_of_what_is_proven() -> None:
    """The tiles that were measured on an H200, each at the depth at which the device stops gaining."""
    for graph, depth in ((kernels.gemm(), 3), (kernels.gemm(128, 128), 4), (kernels.gemm(128, 192), 3)):
        problem = close_problem(graph, H200)
        found = [s for s in schedules(graph, H200, 2).values() if {p.depth for p in s.pipelines} == {depth}]
        for schedule in found:
            (time,) = loop_times(Reading(problem, schedule))
            assert time.interval <= simulate(graph, H200, schedule).settled["k"] <= 1.1 * time.interval


def test_the_headline_of_a_forecast_is_the_certificates() -> None:
    """A loop inside the main loop's body is played with it, and does not stand for it."""
    from tests.unit.solver.warp.test_timing import with_scalar_loop

    graph = with_scalar_loop(kernels.gemm())
    plain, nested = (next(iter(schedules(one, H200, 2).values())) for one in (kernels.gemm(), graph))
    alone, together = simulate(kernels.gemm(), H200, plain), simulate(graph, H200, nested)
    assert together.settled["k"] == together.interval_cycles >= alone.interval_cycles
    assert together.cycles >= alone.cycles
