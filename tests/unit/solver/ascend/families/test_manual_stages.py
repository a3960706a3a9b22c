"""Stages that the source fixes are kept, and so is the order of a pipe's phases."""

import pytest

from tests.unit.solver.ascend.families.boundaries import Boundary, Situation, assert_built, assert_checked, two_tasks


def staged(first: int, second: int) -> Situation:
    return two_tasks((first, second), manual_schedule=True, manual_stages=(0, 1))


def in_order(first: int, second: int) -> Situation:
    return two_tasks((first, second), pipe_order_deps=((0, 1),))


BOUNDARIES = (
    Boundary("manual_stages", "stage", lambda: staged(0, 10), lambda: staged(0, 9)),
    Boundary("manual_stages", "pipe-order", lambda: in_order(3, 13), lambda: in_order(4, 13)),
)


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=str)
def test_check_refuses_what_breaks_only_this_rule(boundary: Boundary) -> None:
    assert_checked(boundary)


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=str)
def test_build_forbids_what_check_refuses(boundary: Boundary) -> None:
    assert_built(boundary)
