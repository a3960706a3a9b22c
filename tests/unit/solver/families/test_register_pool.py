"""Budgets that ptxas takes, one a warpgroup, all or none, and no more in all than the launch gave."""

import pytest

from tests.unit.solver.families.boundaries import CANNOT_BE_SAID, Boundary, assert_built, assert_checked
from tests.unit.solver.families.kernels import ring, ring_with_store
from tests.unit.solver.families.situations import Situation


def wide(helper: int) -> Situation:
    """Two consumer warpgroups of 240 registers and a helper, launched with 168 registers a thread: 24 are left."""
    return ring(groups=2).role("load", registers=helper)


def helpers(second: int) -> Situation:
    """Load and store role in one warpgroup."""
    return ring_with_store().role("store", registers=second)


def budget(role: str, registers: int) -> Situation:
    return ring().role(role, registers=registers)


BOUNDARIES = (
    Boundary(
        "register_pool",
        "no-setmaxnreg",
        lambda: ring().role("consumer", registers=0).role("load", registers=0).on(setmaxnreg=False),
        lambda: ring().on(setmaxnreg=False),
    ),
    Boundary("register_pool", "budget-value", lambda: budget("load", 24), lambda: budget("load", 16), about="least"),
    Boundary(
        "register_pool",
        "budget-value",
        lambda: budget("consumer", 256),
        lambda: budget("consumer", 264),
        about="largest",
    ),
    Boundary(
        "register_pool",
        "budget-value",
        lambda: budget("consumer", 232),
        lambda: budget("consumer", 236),
        about="no multiple of eight",
        forbidden_by=CANNOT_BE_SAID,
    ),
    Boundary(
        "register_pool",
        "zero-and-positive",
        lambda: ring().role("load", registers=24),
        lambda: ring().role("load", registers=0),
    ),
    Boundary("register_pool", "one-budget-a-warpgroup", lambda: helpers(24), lambda: helpers(32)),
    Boundary("register_pool", "pool-exceeded", lambda: wide(24), lambda: wide(32)),
)


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=str)
def test_check_refuses_what_breaks_only_this_rule(boundary: Boundary) -> None:
    assert_checked(boundary)


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=str)
def test_build_forbids_what_check_refuses(boundary: Boundary) -> None:
    assert_built(boundary)
