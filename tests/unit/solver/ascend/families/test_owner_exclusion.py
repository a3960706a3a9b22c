"""Two loops that own one ring do not hold it at once."""

import pytest

from tests.unit.solver.ascend.families.boundaries import Boundary, Situation, assert_built, assert_checked, two_tasks


def owned(first: int, second: int) -> Situation:
    return two_tasks((first, second), owner_exclusion_deps=((0, 1, 3, 5),))


BOUNDARIES = (
    Boundary("owner_exclusion", "disjoint", lambda: owned(0, 3), lambda: owned(0, 2), about="too soon"),
    Boundary("owner_exclusion", "disjoint", lambda: owned(0, 5), lambda: owned(0, 6), about="around the interval"),
)


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=str)
def test_check_refuses_what_breaks_only_this_rule(boundary: Boundary) -> None:
    assert_checked(boundary)


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=str)
def test_build_forbids_what_check_refuses(boundary: Boundary) -> None:
    assert_built(boundary)
