"""A device takes a warp schedule only when it has TMA."""

import pytest

from tests.unit.solver.families.boundaries import Boundary, assert_built, assert_checked
from tests.unit.solver.families.kernels import ring

BOUNDARIES = (Boundary("target", "needs-tma", ring, lambda: ring().on(tma=False)),)


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=str)
def test_check_refuses_what_breaks_only_this_rule(boundary: Boundary) -> None:
    assert_checked(boundary)


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=str)
def test_build_forbids_what_check_refuses(boundary: Boundary) -> None:
    assert_built(boundary)
