"""What one role writes and another touches changes hands through a pipeline, value by value; private storage never does."""

from functools import partial

import pytest

from tests.unit.solver.families.boundaries import CANNOT_BE_SAID, Boundary, assert_built, assert_checked
from tests.unit.solver.families.kernels import (
    refilled_for_the_next,
    ring,
    through_global,
    turns,
    with_afterthought,
)
from tests.unit.solver.families.situations import Situation

ONE_AFTER_THE_OTHER = ("fill_one", "use_one", "fill_two", "use_two", "use_again")


def in_turns(*consumer: str, load: tuple[str, ...] = ()) -> Situation:
    """A buffer filled twice an iteration, with another body of its consumer, and maybe of its producer."""
    situation = turns(*ONE_AFTER_THE_OTHER).body("k", "consumer", *consumer)
    return situation.body("k", "load", *load) if load else situation


def unprotected() -> Situation:
    """The ring of one operand alone; the other one is loaded by the load role all the same."""
    situation = ring().pipeline("as_bs", buffers=("As",))
    return situation.role("load", registers=40)


LAST = ("fence:as", "release:as")
SPANS = ("wait:as", "use_one", *LAST, "wait:as", "use_two", "use_again", *LAST)

BOUNDARIES = (
    Boundary(
        "hand_offs",
        "private-storage",
        partial(with_afterthought, "consumer"),
        partial(with_afterthought, "load"),
        about="read",
    ),
    Boundary(
        "hand_offs",
        "no-pipeline",
        ring,
        unprotected,
        CANNOT_BE_SAID,
    ),
    Boundary("hand_offs", "global-hand-off", partial(through_global, "consumer"), partial(through_global, "load")),
    Boundary(
        "hand_offs",
        "loop-carried-hand-off",
        partial(refilled_for_the_next, "consumer"),
        partial(refilled_for_the_next, "load"),
        CANNOT_BE_SAID,
    ),
    Boundary(
        "hand_offs",
        "used-before-filled",
        partial(in_turns, *SPANS),
        partial(in_turns, "wait:as", "use_one", "use_two", *LAST, "wait:as", "use_again", *LAST),
        CANNOT_BE_SAID,
    ),
    Boundary(
        "hand_offs",
        "refilled-before-use",
        partial(in_turns, *SPANS),
        partial(
            in_turns,
            *("wait:as", "use_one", "use_two", "use_again", *LAST),
            load=("acquire:as", "fill_one", "fill_two", "commit:as"),
        ),
        CANNOT_BE_SAID,
    ),
)


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=str)
def test_check_refuses_what_breaks_only_this_rule(boundary: Boundary) -> None:
    assert_checked(boundary)


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=str)
def test_build_forbids_what_check_refuses(boundary: Boundary) -> None:
    assert_built(boundary)
