"""A count is as large as the starts need and as the loop allows, one for each buffer."""

import pytest

from tests.unit.solver.ascend.families.boundaries import Boundary, assert_built, assert_checked, ring

BOUNDARIES = (
    Boundary("buffer_versions", "live-copies", lambda: ring(count=2), lambda: ring(count=1)),
    Boundary("buffer_versions", "domain", lambda: ring(limit=256, count=2), lambda: ring(limit=256, count=3)),
    Boundary("buffer_versions", "one-count-a-buffer", ring, lambda: ring().counts(), said=False),
)


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=str)
def test_check_refuses_what_breaks_only_this_rule(boundary: Boundary) -> None:
    assert_checked(boundary)


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=str)
def test_build_forbids_what_check_refuses(boundary: Boundary) -> None:
    assert_built(boundary)
