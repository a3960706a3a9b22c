"""A value that lives across iterations has one version, and no ring has more versions than values."""

from dataclasses import replace
from functools import partial

import pytest

from tests.unit.solver.families.boundaries import Boundary, assert_built, assert_checked
from tests.unit.solver.families.kernels import ring
from tests.unit.solver.families.situations import Situation


def guarded_load(depth: int) -> Situation:
    """One operand is loaded under a guard: where that does not hold, the old value is used again."""
    situation = ring(depth=depth)
    graph = situation.problem.graph
    ops = tuple(replace(op, guarded=True) if op.id == "copy_a" else op for op in graph.ops)
    return replace(situation, problem=replace(situation.problem, graph=replace(graph, ops=ops)))


BOUNDARIES = (
    Boundary("pipeline_depth", "loop-carried", partial(guarded_load, 1), partial(guarded_load, 2)),
    Boundary("pipeline_depth", "deeper-than-trips", partial(ring, trips=2), partial(ring, trips=2, depth=3)),
)


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=str)
def test_check_refuses_what_breaks_only_this_rule(boundary: Boundary) -> None:
    assert_checked(boundary)


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=str)
def test_build_forbids_what_check_refuses(boundary: Boundary) -> None:
    assert_built(boundary)
