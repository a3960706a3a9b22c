"""No rule can vanish unseen: each family's check, then its build, is emptied, and the family's own boundaries fail.

The long form runs whole test files against every mutation: ``make mutation``.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Protocol

import pytest

from benchmarks.mutation import BUILDS_NOTHING, Mutation, emptied, mutations, own_tests
from tests import kernels
from warpwright.solver.profiles import load_profile
from warpwright.solver.warp.encoding import declare
from warpwright.solver.warp.families import family
from warpwright.solver.warp.problem import close_problem


class Boundary(Protocol):
    """What the boundaries of all three kinds have."""

    family: str


def module_of(mutation: Mutation) -> str:
    return own_tests(mutation).removesuffix(".py").replace("/", ".")


def boundaries(mutation: Mutation) -> tuple[Boundary, ...]:
    """Those of the family's own test module, which is called by the family's module."""
    found = import_module(module_of(mutation)).BOUNDARIES
    return tuple(boundary for boundary in found if boundary.family == mutation.family)


def asserting(mutation: Mutation) -> Callable[[Boundary], None]:
    module = import_module(f"{module_of(mutation).rpartition('.')[0]}.boundaries")
    chosen: Callable[[Boundary], None] = getattr(
        module, "assert_checked" if mutation.face == "check" else "assert_built"
    )
    return chosen


def fails(judge: Callable[[Boundary], None], boundary: Boundary) -> bool:
    try:
        judge(boundary)
    except AssertionError:
        return True
    return False


@pytest.mark.parametrize(
    "mutation", [m for m in mutations() if m.face == "check"], ids=lambda m: f"{m.kind}-{m.family}"
)
def test_no_boundary_holds_without_the_familys_check(mutation: Mutation) -> None:
    judge, found = asserting(mutation), boundaries(mutation)
    assert found
    with emptied(mutation):
        assert [str(boundary) for boundary in found if not fails(judge, boundary)] == []


@pytest.mark.parametrize(
    "mutation", [m for m in mutations() if m.face == "build"], ids=lambda m: f"{m.kind}-{m.family}"
)
def test_some_boundary_falls_without_the_familys_build(mutation: Mutation) -> None:
    judge, found = asserting(mutation), boundaries(mutation)
    with emptied(mutation):
        assert any(fails(judge, boundary) for boundary in found)


@pytest.mark.parametrize("name", sorted(BUILDS_NOTHING))
def test_what_builds_nothing_is_known_for_it(name: str) -> None:
    enc = declare(close_problem(kernels.attention(), load_profile("h200")))
    before = len(enc.model.constraints)
    family(name).build(enc)
    assert len(enc.model.constraints) == before
