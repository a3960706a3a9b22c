"""An operation runs on one group of its kind and size."""

import pytest

from tests.unit.solver.modulo.families.boundaries import Boundary, assert_built, assert_checked
from tests.unit.solver.modulo.families.starts import product_and_softmax, streams
from warpwright.solver.engines import Budget, EngineStatus, engine
from warpwright.solver.modulo.run import encode

BOUNDARIES = (
    Boundary("placement", "one-group", streams, lambda: streams().on(load="wide"), "load among work"),
    Boundary("placement", "one-group", streams, lambda: streams().on(work="loads"), "work among loads"),
    Boundary("placement", "one-group", streams, lambda: streams().on(work="narrow"), "too few warps"),
    Boundary("placement", "one-group", streams, lambda: streams().on(work="nowhere"), "unknown"),
)


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=str)
def test_check_refuses_what_breaks_only_this_rule(boundary: Boundary) -> None:
    assert_checked(boundary)


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=str)
def test_build_forbids_what_check_refuses(boundary: Boundary) -> None:
    assert_built(boundary)


def test_build_takes_one_group_and_no_two() -> None:
    """Without the rule an operation might be on both of two groups that can run it."""
    problem = product_and_softmax().problem
    encoding = encode(problem, 7, 7)
    model = encoding.model
    model.objectives = []
    model.any_of([encoding.on["softmax", "left"]])
    model.any_of([encoding.on["softmax", "right"]])
    assert engine().solve(model, Budget()).status is EngineStatus.INFEASIBLE
    model.constraints = [constraint for constraint in model.constraints if constraint.family != "placement"]
    assert engine().solve(model, Budget()).status is EngineStatus.OPTIMAL
