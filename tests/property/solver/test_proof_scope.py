"""What is proven without a qualifier is proven over every width and every placement: no pin makes the loop shorter."""

from random import Random

import pytest

from tests import kernels
from warpwright.solver.domain import KernelGraph, Pins, PlacementPin
from warpwright.solver.domain.schedule import Pipeline
from warpwright.solver.domain.verdict import Certificate, Feasible, ProvenOptimal
from warpwright.solver.profiles import load_profile
from warpwright.solver.warp.bounds import lower_bounds
from warpwright.solver.warp.every_schedule import bound_of_every_schedule
from warpwright.solver.warp.fallback_schedules import simple_schedule
from warpwright.solver.warp.layout.structure import structure_of
from warpwright.solver.warp.problem import ROLES, WarpProblem, close_problem
from warpwright.solver.warp.schedule_reader import Reading
from warpwright.solver.warp.solve import solve
from warpwright.solver.warp.timing import loop_times
from warpwright.solver.warp.verify import violations

WIDTHS = range(1, 9)
SHORT = (
    (kernels.gemm(64, 128, 32, threads=256), "h200"),
    (kernels.blackwell_gemm(), "b200"),
    (kernels.attention(64, 64, 64, threads=128), "h200"),
)
LONG = (
    (kernels.gemm(), "h200"),
    (kernels.gemm(), "b200"),
    (kernels.gemm(192, 192, threads=384), "h200"),
    (kernels.gemm(128, 192), "b200"),
    (kernels.attention(), "h200"),
    (kernels.attention(), "b200"),
    (kernels.gemm_in_pairs(), "h200"),
    (kernels.two_gemms(), "h200"),
    (kernels.filled_twice(), "h200"),
    (kernels.filled_twice(), "b200"),
    (kernels.scattered(), "h200"),
    (kernels.scattered(), "b200"),
    (kernels.rewrites_after_use(), "h200"),
    (kernels.persistent_gemm(), "h200"),
)


def certificate_of(problem: WarpProblem) -> Certificate | None:
    verdict = solve(problem)
    return verdict.certificate if isinstance(verdict, ProvenOptimal | Feasible) else None


def shorter(problem: WarpProblem, pins: Pins, interval: int) -> int:
    """The interval under these pins if it is below another one, or 0; a conflict or a lower bound may save the search."""
    pinned = problem.with_pins(pins)
    if structure_of(pinned).conflicts or next(iter(lower_bounds(pinned).values()))[0].cycles >= interval:
        return 0
    found = certificate_of(pinned)
    cycles = (found.initiation_interval_cycles or 0) if found is not None else 0
    return cycles if cycles < interval else 0


def assert_scope_holds(graph: KernelGraph, profile: str) -> None:
    problem = close_problem(graph, load_profile(profile))
    free = certificate_of(problem)
    assert free is not None
    assert free.scope is not None
    interval = free.initiation_interval_cycles
    assert interval is not None
    for groups in WIDTHS:
        assert not shorter(problem, Pins(consumer_warpgroups=groups), interval), (groups, free.sentence)
    for op in graph.ops if free.scope.every else ():
        for role in ROLES:
            pins = Pins(placements=(PlacementPin(op.id, role),))
            assert not shorter(problem, pins, interval), (op.id, role, free.sentence)


@pytest.mark.parametrize(("graph", "profile"), SHORT, ids=lambda value: getattr(value, "name", value))
def test_no_pin_is_shorter_than_what_is_proven(graph: KernelGraph, profile: str) -> None:
    free = certificate_of(close_problem(graph, load_profile(profile)))
    assert free is not None
    assert free.sentence == "proven optimal"
    assert_scope_holds(graph, profile)


@pytest.mark.slow
@pytest.mark.parametrize(("graph", "profile"), LONG, ids=lambda value: getattr(value, "name", value))
def test_no_pin_is_shorter_than_what_is_proven_for_larger_kernels(graph: KernelGraph, profile: str) -> None:
    assert_scope_holds(graph, profile)


def assert_bound_holds(graph: KernelGraph, profile: str, tries: int) -> int:
    """Operations in random roles, roles exchanged as a whole or one by one; the number of legal schedules."""
    random, problem, legal = Random(tries), close_problem(graph, load_profile(profile)), 0
    every, rule = bound_of_every_schedule(problem), structure_of(problem).placement
    assert every is not None
    for _ in range(tries):
        other = dict(zip(ROLES, random.choices(ROLES, k=len(ROLES)), strict=True))
        share = random.choice((0.1, 0.3, 1.0))
        roles = [
            (op.id, other[rule[op.id][0]]) for op in graph.ops if len(rule[op.id]) == 1 and random.random() < share
        ]
        pinned = problem.with_pins(Pins(placements=tuple(PlacementPin(op, role) for op, role in roles)))
        channels = structure_of(pinned).channels
        depths = [1 if channel.encloses or channel.carried else random.choice((1, 2, 3)) for channel in channels]
        pipelines = [
            (Pipeline(f"{channel.name}_{n}", (channel.buffer,), depth), (n,))
            for n, (channel, depth) in enumerate(zip(channels, depths, strict=True))
        ]
        helper, consumer = random.choice(((24, 240), (24, 160), (0, 0), (56, 224), (168, 168)))
        for groups in () if structure_of(pinned).conflicts else (1, 2, 3, 4):
            schedule = simple_schedule(pinned, groups, helper, consumer, pipelines)
            if not violations(problem, schedule):
                legal += 1
                assert loop_times(Reading(problem, schedule))[0].interval >= every.cycles, (roles, groups)
    return legal


@pytest.mark.parametrize(("graph", "profile"), SHORT, ids=lambda value: getattr(value, "name", value))
def test_no_random_placement_is_below_the_bound_of_every_schedule(graph: KernelGraph, profile: str) -> None:
    assert assert_bound_holds(graph, profile, 30)


@pytest.mark.slow
@pytest.mark.parametrize(("graph", "profile"), LONG, ids=lambda value: getattr(value, "name", value))
def test_no_random_placement_is_below_the_bound_for_larger_kernels(graph: KernelGraph, profile: str) -> None:
    assert assert_bound_holds(graph, profile, 400)


@pytest.mark.slow
@pytest.mark.parametrize(("graph", "profile"), LONG, ids=lambda value: getattr(value, "name", value))
def test_no_two_pinned_placements_are_shorter(graph: KernelGraph, profile: str) -> None:
    """Loads come in pairs: both in the consumer, or each in a role of its own."""
    problem = close_problem(graph, load_profile(profile))
    free = certificate_of(problem)
    assert free is not None
    assert free.scope is not None
    loads = [op.id for op in graph.ops if op.kind.value.endswith("load")]
    interval = free.initiation_interval_cycles
    assert interval is not None
    for first in ROLES if free.scope.every else ():
        for second in ROLES:
            pins = Pins(placements=tuple(PlacementPin(op, (first, second)[n % 2]) for n, op in enumerate(loads)))
            assert not shorter(problem, pins, interval), (first, second)
