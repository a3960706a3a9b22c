"""A unit takes as many uses at once as it has instances, modulo the interval."""

import pytest

from tests.unit.solver.modulo.families.boundaries import Boundary, assert_built, assert_checked
from tests.unit.solver.modulo.families.starts import ports, row

BOUNDARIES = (
    Boundary("units", "capacity", row, lambda: row().at(store=9), about="exclusive"),
    Boundary("units", "capacity", lambda: ports(2), lambda: ports(2).at(c=1), about="counted"),
)


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=str)
def test_check_refuses_what_breaks_only_this_rule(boundary: Boundary) -> None:
    assert_checked(boundary)


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=str)
def test_build_forbids_what_check_refuses(boundary: Boundary) -> None:
    assert_built(boundary)
