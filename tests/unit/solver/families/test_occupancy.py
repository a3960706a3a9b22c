"""As many blocks as the kernel asks for fit one SM, to the last slot, warp and byte."""

from dataclasses import replace

import pytest

from tests.unit.solver.families.boundaries import Boundary, assert_built, assert_checked
from tests.unit.solver.families.kernels import ring
from tests.unit.solver.families.situations import Situation
from warpwright.solver.device.shared_memory import block_bytes

BLOCKS = 2


def two_blocks(**device: int) -> Situation:
    """Two blocks of 8 warps on one SM."""
    one = ring()
    graph = replace(one.problem.graph, min_blocks_per_sm=BLOCKS)
    return replace(one, problem=replace(one.problem, graph=graph)).role("consumer", registers=168).on(**device)


def two_blocks_need() -> int:
    """Bytes of shared memory of an SM that both take, with what the system reserves for each."""
    both = two_blocks()
    used = block_bytes(both.problem.graph, both.schedule)
    return BLOCKS * (used + both.problem.device.shared_bytes_reserved)


BOUNDARIES = (
    Boundary("occupancy", "block-slots", lambda: two_blocks(sm_blocks=2), lambda: two_blocks(sm_blocks=1)),
    Boundary("occupancy", "sm-warps", lambda: two_blocks(sm_warps=16), lambda: two_blocks(sm_warps=15)),
    Boundary(
        "occupancy",
        "sm-shared-memory",
        lambda: two_blocks(shared_bytes_per_sm=two_blocks_need()),
        lambda: two_blocks(shared_bytes_per_sm=two_blocks_need() - 1),
    ),
)


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=str)
def test_check_refuses_what_breaks_only_this_rule(boundary: Boundary) -> None:
    assert_checked(boundary)


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=str)
def test_build_forbids_what_check_refuses(boundary: Boundary) -> None:
    assert_built(boundary)
