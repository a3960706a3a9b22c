"""The reader of a copied scalar is in no later stage than the writer of what it read."""

import pytest

from tests.unit.solver.ascend.families.boundaries import Boundary, Situation, assert_built, assert_checked, two_tasks


def ordered(first: int, second: int) -> Situation:
    return two_tasks((first, second), stage_order_deps=((0, 1),))


BOUNDARIES = (Boundary("stage_order", "not-later", lambda: ordered(9, 9), lambda: ordered(10, 9)),)


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=str)
def test_check_refuses_what_breaks_only_this_rule(boundary: Boundary) -> None:
    assert_checked(boundary)


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=str)
def test_build_forbids_what_check_refuses(boundary: Boundary) -> None:
    assert_built(boundary)
