"""What lives at once on a group fits into its threads."""

import pytest

from tests.unit.solver.modulo.families.boundaries import Boundary, assert_built, assert_checked
from tests.unit.solver.modulo.families.starts import product_and_softmax

BOUNDARIES = (
    Boundary("registers", "limit", lambda: product_and_softmax(registers=8), lambda: product_and_softmax(registers=7)),
)


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=str)
def test_check_refuses_what_breaks_only_this_rule(boundary: Boundary) -> None:
    assert_checked(boundary)


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=str)
def test_build_forbids_what_check_refuses(boundary: Boundary) -> None:
    assert_built(boundary)
