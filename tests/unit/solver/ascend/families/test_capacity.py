"""All versions of all buffers of a scope fit what is left of it, to the last byte."""

import pytest

from tests.unit.solver.ascend.families.boundaries import Boundary, assert_built, assert_checked, ring

BOUNDARIES = (Boundary("memory_capacity", "fits", lambda: ring(limit=128), lambda: ring(limit=127)),)


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=str)
def test_check_refuses_what_breaks_only_this_rule(boundary: Boundary) -> None:
    assert_checked(boundary)


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=str)
def test_build_forbids_what_check_refuses(boundary: Boundary) -> None:
    assert_built(boundary)
