"""A role runs one list: offsets keep dependences, spans keep their stage, and a buffer is free only after its product's wait."""

from functools import partial

import pytest

from tests import kernels
from tests.unit.solver.families.boundaries import CANNOT_BE_SAID, Boundary, assert_built, assert_checked
from tests.unit.solver.families.kernels import pair_in_root, ring, rings, turns
from tests.unit.solver.families.situations import ROOT, Situation, start
from warpwright.solver.domain.pins import Pins, StagePin
from warpwright.solver.domain.verdict import Infeasible, ProvenOptimal
from warpwright.solver.warp.solve import solve

USE_ONE = ("wait:as", "use_one", "fence:as", "release:as")
SOFTMAX = ("keep_max", "new_max", "factor", "exponent", "sum", "total")


def attention(*words: str, waits: bool = True) -> Situation:
    """Attention with another loop body of its consumer; ``waits=False``: its first product is only started."""
    return start(kernels.attention(64, 64, 64, threads=128, waits=waits)).body("k", "consumer", *words)


def late_product(*behind: str) -> Situation:
    """The second product is of the iteration before: its span is at stage 1. ``behind`` it stand the statements that are left."""
    first = ("clear_scores", "wait:ks", "qk", "release:ks")
    return attention(*first, *behind)


def started_product(*behind: str) -> Situation:
    """The first product is only started; ``behind`` it stand its wait and the release of its operand."""
    second = (*SOFTMAX, "cast", "scale", "wait:vs", "pv", "release:vs")
    return attention("clear_scores", "wait:ks", "qk", *behind, *second, waits=False)


def staged(b: str = "", *, zero_based: bool = True) -> Situation:
    """Two rings, of which the load role fills the second one at this stage (``@1``)."""
    situation = rings(zero_based=zero_based)
    return situation.body("k", "load", "acquire:as", "copy_a", "commit:as", f"acquire:bs{b}", "copy_b", f"commit:bs{b}")


def uses(*words: str) -> Situation:
    """A buffer that is filled and used twice in an iteration, with another body of its consumer."""
    return turns("fill_one", "use_one", "fill_two", "use_two").body("k", "consumer", *words)


def into_tensor_memory(**placed: str) -> Situation:
    """A product into tensor memory with operations in these roles; without a word, both loads in theirs."""
    return start(kernels.blackwell_gemm(128, 64), profile="b200", placed=placed, helper=168, consumer=168)


BOUNDARIES = (
    Boundary(
        "body_order",
        "order-breaks-dependence",
        partial(late_product, "wait:vs@1", "pv", "release:vs@1", *SOFTMAX, "cast", "scale"),
        partial(late_product, *SOFTMAX, "scale", "cast", "wait:vs@1", "pv", "release:vs@1"),
        about="wrong iteration",
    ),
    Boundary(
        "body_order",
        "order-breaks-dependence",
        lambda: ring().body(ROOT, "consumer", "clear", "k", "relu", "stage_c", "store_c"),
        lambda: ring().body(ROOT, "consumer", "clear", "k", "stage_c", "relu", "store_c"),
        CANNOT_BE_SAID,
        about="turned around",
    ),
    Boundary(
        "body_order",
        "spans-share-stage",
        partial(uses, *USE_ONE, "wait:as", "use_two", "fence:as", "release:as"),
        partial(uses, *USE_ONE, "wait:as@1", "use_two", "fence:as", "release:as@1"),
    ),
    Boundary(
        "body_order",
        "pair-shares-stage",
        lambda: ring().body("k", "consumer", "wait:as_bs", "mma", "release:as_bs"),
        lambda: ring().body("k", "consumer", "wait:as_bs", "mma", "release:as_bs@1"),
        CANNOT_BE_SAID,
    ),
    Boundary(
        "body_order",
        "item-between-stages",
        lambda: rings().body("k", "consumer", "wait:as", "wait:bs", "mma", "release:as", "release:bs"),
        lambda: rings().body("k", "consumer", "wait:as", "wait:bs@1", "mma", "release:as", "release:bs@1"),
        CANNOT_BE_SAID,
    ),
    Boundary("body_order", "root-shift", pair_in_root, partial(pair_in_root, "@1"), CANNOT_BE_SAID),
    Boundary(
        "body_order",
        "shift-needs-zero-base",
        partial(staged, zero_based=False),
        partial(staged, "@1", zero_based=False),
    ),
    Boundary(
        "body_order",
        "release-without-wait",
        partial(started_product, "qk_done", "release:ks"),
        partial(started_product, "release:ks", "qk_done"),
        CANNOT_BE_SAID,
    ),
    Boundary(
        "body_order",
        "product-unawaited",
        into_tensor_memory,
        partial(into_tensor_memory, copy_a="mma"),
        about="operand overwritten",
    ),
)


def test_a_loop_from_zero_takes_offsets() -> None:
    assert staged("@1").codes() == set()


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=str)
def test_check_refuses_what_breaks_only_this_rule(boundary: Boundary) -> None:
    assert_checked(boundary)


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=str)
def test_build_forbids_what_check_refuses(boundary: Boundary) -> None:
    assert_built(boundary)


def test_a_pinned_stage_in_a_loop_that_does_not_start_at_zero_is_infeasible_with_a_reason() -> None:
    pins = Pins(stages=(StagePin("copy_b", 1),))
    assert isinstance(solve(rings().problem.with_pins(pins)), ProvenOptimal)
    verdict = solve(rings(zero_based=False).problem.with_pins(pins))
    assert isinstance(verdict, Infeasible)
    assert {(conflict.family, conflict.place) for conflict in verdict.conflicts} >= {("pins", "pin:ops.copy_b.stage=1")}
    assert any("k does not start at 0" in conflict.message for conflict in verdict.conflicts)
