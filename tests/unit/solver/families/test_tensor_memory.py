"""Accumulators have a lane for every row and columns for every version."""

from functools import partial

import pytest

from tests import kernels
from tests.unit.solver.families.boundaries import Boundary, assert_built, assert_checked
from tests.unit.solver.families.situations import Situation, start

COLUMNS = 64


def blackwell(rows: int = 128, **device: int) -> Situation:
    """A product of 64 columns that accumulates in tensor memory, read back by the consumer."""
    return start(kernels.blackwell_gemm(rows, COLUMNS), profile="b200").on(**device)


BOUNDARIES = (
    Boundary("tensor_memory", "too-many-lanes", partial(blackwell, 128), partial(blackwell, 256)),
    Boundary(
        "tensor_memory",
        "too-many-columns",
        partial(blackwell, tensor_columns=COLUMNS),
        partial(blackwell, tensor_columns=COLUMNS - 1),
    ),
)


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=str)
def test_check_refuses_what_breaks_only_this_rule(boundary: Boundary) -> None:
    assert_checked(boundary)


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=str)
def test_build_forbids_what_check_refuses(boundary: Boundary) -> None:
    assert_built(boundary)
