"""A product has an instruction, all versions have columns, and whole warpgroups copy."""

from functools import partial

import pytest

from tests import kernels
from tests.unit.solver.families.boundaries import Boundary, assert_built, assert_checked
from tests.unit.solver.families.situations import Situation, start

COLUMNS = 64


def blackwell(rows: int = 128, columns: int = COLUMNS, **device: int) -> Situation:
    """A product that accumulates in tensor memory, read back by the consumer."""
    return start(kernels.blackwell_gemm(rows, columns), profile="b200").on(**device)


def two_versions(columns: int) -> Situation:
    """Two tiles of 64 columns each; a persistent kernel fills one while the other is read."""
    return start(kernels.persistent_blackwell_gemm(128, COLUMNS), profile="b200", depth=2).on(tensor_columns=columns)


def consumer_from(warp: int) -> Situation:
    """The consumer, which reads the accumulator back, starts at this warp behind the two others."""
    start_ = start(kernels.blackwell_gemm(128, COLUMNS), profile="b200", helper=0, consumer=0)
    return start_.role("load", lo=4, hi=5).role("mma", lo=5, hi=6).role("consumer", lo=warp, hi=warp + 4).warps(12)


BOUNDARIES = (
    Boundary(
        "tensor_memory",
        "whole-warpgroups",
        partial(consumer_from, 8),
        partial(consumer_from, 6),
        forbidden_by="warp_ranges",
    ),
    Boundary("tensor_memory", "no-instruction", partial(blackwell, 64, 64), partial(blackwell, 64, 32)),
    Boundary(
        "tensor_memory",
        "too-many-columns",
        partial(blackwell, tensor_columns=COLUMNS),
        partial(blackwell, tensor_columns=COLUMNS - 1),
    ),
    Boundary(
        "tensor_memory",
        "too-many-columns",
        partial(two_versions, 2 * COLUMNS),
        partial(two_versions, 2 * COLUMNS - 1),
        about="with two versions",
    ),
)


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=str)
def test_check_refuses_what_breaks_only_this_rule(boundary: Boundary) -> None:
    assert_checked(boundary)


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=str)
def test_build_forbids_what_check_refuses(boundary: Boundary) -> None:
    assert_built(boundary)
