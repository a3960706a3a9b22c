"""What is alive at once fits, with a copy for every iteration in flight."""

import pytest

from tests.unit.solver.modulo.families.boundaries import Boundary, assert_built, assert_checked
from tests.unit.solver.modulo.families.starts import row

BOUNDARIES = (Boundary("memory", "capacity", lambda: row(capacity=3), lambda: row(capacity=2)),)


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=str)
def test_check_refuses_what_breaks_only_this_rule(boundary: Boundary) -> None:
    assert_checked(boundary)


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=str)
def test_build_forbids_what_check_refuses(boundary: Boundary) -> None:
    assert_built(boundary)
