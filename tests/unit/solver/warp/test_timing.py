"""The event graph: least interval by maximum ratio, length by longest path, bounds below both."""

from dataclasses import replace

import pytest

from tests import kernels
from warpwright.solver.domain.kernel import Issue, KernelGraph, Op, OpKind, Scope, ScopeKind, Unit, UnitUse
from warpwright.solver.domain.schedule import Pipeline, WarpSchedule
from warpwright.solver.domain.verdict import ProvenOptimal
from warpwright.solver.profiles import load_profile
from warpwright.solver.warp.bounds import lower_bounds
from warpwright.solver.warp.fallback_schedules import simple_schedule
from warpwright.solver.warp.problem import close_problem
from warpwright.solver.warp.schedule_reader import Reading
from warpwright.solver.warp.solve import solve
from warpwright.solver.warp.timing import (
    TimingEdge,
    find_cycle,
    iteration_limit,
    least_interval,
    longest_path,
    loop_times,
    loops_by_weight,
)

A, B, C = ("r", 0), ("r", 1), ("s", 0)
H200 = load_profile("h200")


def test_the_least_interval_is_the_largest_ratio() -> None:
    edges = [TimingEdge(A, B, 7, 0), TimingEdge(B, A, 6, 2), TimingEdge(A, C, 4, 0), TimingEdge(C, A, 0, 1)]
    assert least_interval(edges, 1) == 7
    assert least_interval(edges, 9) == 9
    cycle = find_cycle(edges, 6)
    assert {edge.source for edge in cycle} == {A, B}
    assert find_cycle(edges, 7) == ()


def test_a_cycle_without_distance_has_no_interval() -> None:
    with pytest.raises(ValueError, match="no iteration"):
        least_interval([TimingEdge(A, B, 1, 0), TimingEdge(B, A, 1, 0)], 1)


def test_the_length_is_the_longest_way_through_one_iteration() -> None:
    edges = [TimingEdge(A, B, 5, 0), TimingEdge(A, C, 9, 0), TimingEdge(C, B, 0, 1)]
    assert longest_path(edges, 4, {B: 3, C: 1}) == 10
    assert longest_path(edges, 9, {B: 3, C: 0}) == 9


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_more_versions_shorten_the_interval_down_to_the_bound(depth: int) -> None:
    problem = close_problem(kernels.gemm(128, 128), H200)
    pipelines = [(Pipeline("ab", ("As", "Bs"), depth), (0, 1))]
    (time,) = loop_times(Reading(problem, simple_schedule(problem, 2, 24, 240, pipelines)))
    # The last byte of B comes after A's in the queue of loads; barriers each way; both warpgroups' products in turn, the
    # drain, and the arrivals of all threads.
    device = problem.machine
    loads = [int(load.bytes / device.fill_bytes) for load in problem.graph.buffers if load.name in ("As", "Bs")]
    product = int(512 + device.gemm_overhead)
    arrivals = int(problem.times.mixed(*problem.times.release(problem.times.crew(problem.graph.ops, 8))))
    ring = int(device.load_latency) + sum(loads) + 92 + product + arrivals + 92
    busiest = lower_bounds(problem, 2)["k"][0].cycles
    assert time.interval == pytest.approx(max(busiest, -(-ring // depth)), abs=1)
    assert time.interval >= busiest


@pytest.mark.parametrize(
    ("graph", "scope", "limit"),
    [
        (kernels.gemm(trips=5), "k", 5),
        (kernels.gemm(trips=None), "k", None),
        (kernels.persistent_gemm(), "k", None),
        (kernels.gemm(), "tl.ws_scope_root", 1),
    ],
)
def test_iterations_are_counted_through_the_nest(graph: KernelGraph, scope: str, limit: int | None) -> None:
    assert iteration_limit(close_problem(graph, H200), scope) == limit


def test_a_persistent_loop_takes_its_inner_loops_time() -> None:
    problem = close_problem(kernels.persistent_gemm(trips=10), H200)
    pipelines = [(Pipeline("ab", ("As", "Bs"), 4), (0, 1))]
    inner, outer = loop_times(Reading(problem, simple_schedule(problem, 2, 24, 240, pipelines)))
    assert inner.scope == "k"
    assert outer.interval > 10 * inner.interval


def test_the_headline_is_the_loop_with_most_cycles_of_its_own() -> None:
    """A scalar loop inside the product's loop runs most often and takes least: the certificate is not about it."""
    graph = with_scalar_loop(kernels.gemm())
    problem = close_problem(graph, H200)
    assert loops_by_weight(problem) == ("k", "lanes")
    verdict = solve(problem)
    assert isinstance(verdict, ProvenOptimal)
    assert isinstance(verdict.schedule, WarpSchedule)
    times = {time.scope: time for time in loop_times(Reading(problem, verdict.schedule))}
    assert next(iter(times)) == "k"
    assert verdict.certificate.initiation_interval_cycles == times["k"].interval > 16 * times["lanes"].interval


def with_scalar_loop(graph: KernelGraph) -> KernelGraph:
    """The kernel with a loop over sixteen scalars at the end of its main loop's body."""
    scalar = Op("scale", OpKind.PARALLEL, "lanes", Issue.BLOCKING, 1, (UnitUse(Unit.ALU, 1),), (), (), elements=1)
    (main,) = (scope for scope in graph.scopes if scope.id == "k")
    inner = Scope("lanes", ScopeKind.SERIAL, "k", 16, ("scale",))
    scopes = tuple(replace(s, items=(*s.items, "lanes")) if s is main else s for s in graph.scopes)
    return replace(graph, scopes=(*scopes, inner), ops=(*graph.ops, scalar))
