"""Roles are disjoint ranges inside the block; a warpgroup product gets whole, aligned warpgroups that divide its tile."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest

from tests.kernels import Sketch
from tests.unit.solver.families.boundaries import CANNOT_BE_SAID, Boundary, assert_built, assert_checked
from tests.unit.solver.families.kernels import ring
from tests.unit.solver.families.situations import Situation, start
from warpwright.solver.domain.kernel import Memory, RefusedWidth
from warpwright.solver.domain.schedule import Role


def last_warp(number: int) -> Situation:
    """The load role is far behind the consumer; a product of 32 columns, 42 registers at launch: even 32 warps get 64."""
    return ring(32).role("load", lo=number, hi=number + 1).warps(number // 4 * 4 + 4)


def ranges(consumer: tuple[int, int], load: tuple[int, int]) -> Situation:
    """Both roles with the same budget, so that they may meet in a warpgroup."""
    (first, last), (lo, hi) = consumer, load
    situation = ring().role("consumer", lo=first, hi=last, registers=168).role("load", lo=lo, hi=hi, registers=168)
    return situation.warps(-(-max(last, hi) // 4) * 4)


def split_by_rows(groups: int) -> Situation:
    """A tile of 128 rows, of which each warpgroup takes 64."""
    situation = ring(groups=2, policy="fullrow")
    end = 4 * groups
    return situation.role("consumer", hi=end, registers=160).role("load", lo=end, hi=end + 1).warps(end + 4)


def filled_by(groups: int) -> Situation:
    """1024 elements that every thread of the role fills its share of, in a kernel that was written for 256 threads."""
    s = Sketch("filled", 256)
    s.buffer("part", Memory.FRAGMENT, (16, 64), "float32")
    s.loop("k", 16)
    s.fill("clear", "part", "k")
    return start(s.graph(), groups=groups, consumer=64)


def laid_out_beside(groups: int) -> Situation:
    """A product of one warpgroup; the compiler found no layouts for its fragments over this many."""
    situation = ring()
    refused = (RefusedWidth(groups, "Layout infer conflict between scores and weights in T.Parallel loop"),)
    graph = replace(situation.problem.graph, refused_widths=refused)
    return replace(situation, problem=replace(situation.problem, graph=graph))


def twins() -> Situation:
    situation = ring()
    roles = (*situation.schedule.roles, Role("load", 5, 6, 24))
    return replace(situation, schedule=replace(situation.schedule, roles=roles))


def outside(lo: int, hi: int) -> Callable[[], Situation]:
    return lambda: ring().role("load", lo=lo, hi=hi)


BOUNDARIES = (
    Boundary(
        "warp_ranges", "warps-multiple-of-four", ring, lambda: ring().warps(9), CANNOT_BE_SAID, about="one too many"
    ),
    Boundary(
        "warp_ranges", "warps-multiple-of-four", ring, lambda: ring().warps(6), CANNOT_BE_SAID, about="two too few"
    ),
    Boundary("warp_ranges", "too-many-threads", partial(last_warp, 31), partial(last_warp, 32)),
    Boundary("warp_ranges", "role-twice", ring, twins, CANNOT_BE_SAID),
    Boundary("warp_ranges", "range-outside-block", outside(7, 8), outside(8, 9), also=("register_pool",)),
    Boundary("warp_ranges", "range-outside-block", outside(5, 6), outside(5, 5), CANNOT_BE_SAID, about="empty"),
    Boundary("warp_ranges", "ranges-overlap", lambda: ranges((0, 4), (4, 5)), lambda: ranges((0, 4), (3, 4))),
    Boundary(
        "warp_ranges",
        "wgmma-alignment",
        lambda: ranges((4, 8), (0, 1)),
        lambda: ranges((3, 7), (0, 1)),
        about="misaligned",
    ),
    Boundary(
        "warp_ranges",
        "wgmma-alignment",
        lambda: ranges((0, 4), (6, 7)),
        lambda: ranges((0, 6), (6, 7)),
        CANNOT_BE_SAID,
        about="six warps",
    ),
    Boundary("warp_ranges", "no-partition", partial(split_by_rows, 2), partial(split_by_rows, 3), about="product"),
    Boundary("warp_ranges", "no-partition", partial(filled_by, 2), partial(filled_by, 3), about="fill"),
    Boundary("warp_ranges", "no-layout", partial(laid_out_beside, 2), partial(laid_out_beside, 1)),
)


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=str)
def test_check_refuses_what_breaks_only_this_rule(boundary: Boundary) -> None:
    assert_checked(boundary)


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=str)
def test_build_forbids_what_check_refuses(boundary: Boundary) -> None:
    assert_built(boundary)
