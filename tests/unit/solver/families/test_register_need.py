"""A role's budget holds what its threads keep, and the launch what one warpgroup instruction asks for."""

import pytest

from tests.unit.solver.families.boundaries import Boundary, assert_built, assert_checked
from tests.unit.solver.families.kernels import ring
from tests.unit.solver.families.situations import Situation


def budget(registers: int) -> Situation:
    """64 x 64 accumulators and 26 for the product: 58 registers a thread. The helper's 240 keep the launch rich."""
    return ring().role("consumer", registers=registers).role("load", registers=240)


def block_of(warps: int) -> Situation:
    """A product of 128 columns, 90 registers at launch, in a block with idle warpgroups: 96 for 20 warps, 80 for 24."""
    return ring(128).role("consumer", registers=96).warps(warps)


BOUNDARIES = (
    Boundary("register_need", "role-budget", lambda: budget(64), lambda: budget(56)),
    Boundary("register_need", "launch-floor", lambda: block_of(20), lambda: block_of(24)),
)


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=str)
def test_check_refuses_what_breaks_only_this_rule(boundary: Boundary) -> None:
    assert_checked(boundary)


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=str)
def test_build_forbids_what_check_refuses(boundary: Boundary) -> None:
    assert_built(boundary)
