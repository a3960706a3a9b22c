"""A consumer issues when the result is there, and later when it is on another group."""

import pytest

from tests.unit.solver.modulo.families.boundaries import Boundary, assert_built, assert_checked
from tests.unit.solver.modulo.families.starts import handed_over, row

BOUNDARIES = (
    Boundary("dependence", "latency", row, lambda: row().at(multiply=3)),
    Boundary("dependence", "latency", lambda: handed_over(5), lambda: handed_over(4), about="another group"),
)


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=str)
def test_check_refuses_what_breaks_only_this_rule(boundary: Boundary) -> None:
    assert_checked(boundary)


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=str)
def test_build_forbids_what_check_refuses(boundary: Boundary) -> None:
    assert_built(boundary)
