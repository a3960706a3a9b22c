"""Without offsets the tasks of a pipe lie inside one interval."""

import pytest

from tests.unit.solver.ascend.families.boundaries import Boundary, Situation, assert_built, assert_checked, two_tasks


def no_offset(first: int, second: int) -> Situation:
    return two_tasks((first, second), enable_offset=False)


BOUNDARIES = (Boundary("offset_window", "one-window", lambda: no_offset(0, 9), lambda: no_offset(0, 10)),)


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=str)
def test_check_refuses_what_breaks_only_this_rule(boundary: Boundary) -> None:
    assert_checked(boundary)


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=str)
def test_build_forbids_what_check_refuses(boundary: Boundary) -> None:
    assert_built(boundary)
