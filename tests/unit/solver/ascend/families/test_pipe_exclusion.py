"""Two tasks of one pipe never issue at once, modulo the interval."""

import pytest

from tests.unit.solver.ascend.families.boundaries import Boundary, Situation, assert_built, assert_checked, two_tasks


def shared(first: int, second: int) -> Situation:
    return two_tasks((first, second), resource_deps=((0, 1),))


BOUNDARIES = (
    Boundary("pipe_exclusion", "disjoint", lambda: shared(0, 4), lambda: shared(0, 3), about="too soon"),
    Boundary("pipe_exclusion", "disjoint", lambda: shared(0, 6), lambda: shared(0, 7), about="around the interval"),
)


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=str)
def test_check_refuses_what_breaks_only_this_rule(boundary: Boundary) -> None:
    assert_checked(boundary)


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=str)
def test_build_forbids_what_check_refuses(boundary: Boundary) -> None:
    assert_built(boundary)
