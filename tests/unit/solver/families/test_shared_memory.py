"""All versions of all buffers, aligned, and their barriers fit the block: the last byte counts."""

import pytest

from tests.unit.solver.families.boundaries import Boundary, assert_built, assert_checked
from tests.unit.solver.families.kernels import ring
from tests.unit.solver.families.situations import Situation
from warpwright.solver.device.shared_memory import block_bytes

USED = 2 * (64 * 32 * 2 + 64 * 32 * 2) + 64 * 64 * 2 + 1024
"""Two versions of both operands, the output tile, and one KiB for the barriers."""


def in_block_of(limit: int) -> Situation:
    return ring().on(shared_bytes_per_block=limit)


BOUNDARIES = (
    Boundary("shared_memory", "over-capacity", lambda: in_block_of(USED), lambda: in_block_of(USED - 1)),
    Boundary(
        "shared_memory",
        "over-capacity",
        lambda: in_block_of(USED),
        lambda: in_block_of(USED).pipeline("as_bs", depth=3),
        about="one version more",
    ),
)


def test_the_sum_is_the_one_on_paper() -> None:
    situation = ring()
    assert block_bytes(situation.problem.graph, situation.schedule) == USED


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=str)
def test_check_refuses_what_breaks_only_this_rule(boundary: Boundary) -> None:
    assert_checked(boundary)


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=str)
def test_build_forbids_what_check_refuses(boundary: Boundary) -> None:
    assert_built(boundary)
