"""A tcgen05 product signals from one warp and into a pipeline; named barriers are few."""

from functools import partial

import pytest

from tests import kernels
from tests.kernels import Sketch
from tests.unit.solver.families.boundaries import Boundary, assert_built, assert_checked
from tests.unit.solver.families.kernels import ring
from tests.unit.solver.families.situations import Situation, start
from warpwright.solver.domain.kernel import Memory


def blackwell(**device: int | bool) -> Situation:
    return start(kernels.blackwell_gemm(128, 64), profile="b200").on(**device)


def accumulates(*, read_back: bool) -> Situation:
    """A product into tensor memory that the consumer reads back, or nobody does."""
    s = Sketch("accumulates", 128)
    for name in ("As", "Bs"):
        s.buffer(name, Memory.SHARED, (128, 64))
    s.buffer("acc", Memory.TENSOR, (128, 128), "float32")
    s.buffer("out", Memory.FRAGMENT, (128, 128), "float32")
    s.loop("k", 16)
    s.load("copy_a", "As", "k", source="A")
    s.load("copy_b", "Bs", "k", source="B")
    s.gemm("mma", "As", "Bs", "acc", (128, 128, 64), "k")
    if read_back:
        s.copy("read", "acc", "out")
    return start(s.graph("sm_100a"), profile="b200")


def two_wide_roles(barriers: int) -> Situation:
    """Consumer and load role of several warps each, in a block that they do not fill."""
    return ring().role("load", hi=6).on(named_barriers=barriers)


BOUNDARIES = (
    Boundary("barriers", "no-tcgen05", blackwell, partial(blackwell, tcgen05=False)),
    Boundary("barriers", "single-warp", blackwell, lambda: blackwell().role("mma", hi=7)),
    Boundary(
        "barriers",
        "unprotected-accumulator",
        partial(accumulates, read_back=True),
        partial(accumulates, read_back=False),
    ),
    Boundary("barriers", "named-barriers", partial(two_wide_roles, 2), partial(two_wide_roles, 1)),
)


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=str)
def test_check_refuses_what_breaks_only_this_rule(boundary: Boundary) -> None:
    assert_checked(boundary)


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=str)
def test_build_forbids_what_check_refuses(boundary: Boundary) -> None:
    assert_built(boundary)
