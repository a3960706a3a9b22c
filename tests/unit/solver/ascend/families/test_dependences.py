"""A task starts when what it depends on is there; a list keeps the order of its pipes."""

import pytest

from tests.unit.solver.ascend.families.boundaries import Boundary, assert_built, assert_checked, ring, straight

BOUNDARIES = (
    Boundary("dependence", "lag", ring, lambda: ring().at(0, 9)),
    Boundary("dependence", "pipe-order", lambda: straight(0, 5), lambda: straight(5, 0)),
)


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=str)
def test_check_refuses_what_breaks_only_this_rule(boundary: Boundary) -> None:
    assert_checked(boundary)


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=str)
def test_build_forbids_what_check_refuses(boundary: Boundary) -> None:
    assert_built(boundary)
