"""A body with a loop of a few trips in it is forecast over all of its iterations."""

import pytest

from tests import kernels
from warpwright.solver.domain import Memory, ProvenOptimal, ScopeKind, WarpSchedule
from warpwright.solver.forecast import simulate
from warpwright.solver.profiles import load_profile
from warpwright.solver.warp.problem import close_problem
from warpwright.solver.warp.solve import solve

H200 = load_profile("h200")


def block_cycles(trips: int, inside: int) -> float:
    """A loop that copies a tile and computes on it, the computation in a loop of its own."""
    s = kernels.Sketch("short_loop_inside", 128, grid=(132,))
    s.buffer("As", Memory.SHARED, (64, 64))
    s.buffer("x", Memory.FRAGMENT, (64, 64), "float32")
    s.loop("k", trips)
    s.load("copy_a", "As", "k", source="A")
    s.copy("read", "As", "x", "k")
    s.loop("once", inside, "k", kind=ScopeKind.UNROLLED)
    s.each("compute", ["x"], ["x"], "once", floats=64 * 64)
    graph = s.graph()
    verdict = solve(close_problem(graph, H200))
    assert isinstance(verdict, ProvenOptimal)
    assert isinstance(verdict.schedule, WarpSchedule)
    return simulate(graph, H200, verdict.schedule).block_cycles


@pytest.mark.parametrize("inside", [1, 4])
def test_an_iteration_with_a_short_loop_in_it_is_what_repeats(inside: int) -> None:
    short, middle, long = (block_cycles(trips, inside) for trips in (100, 200, 400))
    assert long - middle == pytest.approx(2 * (middle - short), rel=0.02)
    assert middle > 1.8 * short
