"""No group blocks on a wait while another of its operations executes."""

import pytest

from tests.unit.solver.modulo.families.boundaries import Boundary, assert_built, assert_checked
from tests.unit.solver.modulo.families.starts import product_and_softmax

BOUNDARIES = (
    Boundary("waits", "wait-inside", product_and_softmax, lambda: product_and_softmax().at(softmax=5), about="before"),
    Boundary("waits", "wait-inside", product_and_softmax, lambda: product_and_softmax().at(output=11), about="behind"),
)


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=str)
def test_check_refuses_what_breaks_only_this_rule(boundary: Boundary) -> None:
    assert_checked(boundary)


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=str)
def test_build_forbids_what_check_refuses(boundary: Boundary) -> None:
    assert_built(boundary)
