"""Every role comes to the end of its list: no wait for ever, neither as long as TileLang replays it nor later.

``build`` adds nothing: start times that repeat and keep the ring of ``pipeline_depth`` prove that every wait ends, so that
family forbids what can be said. The order of a role's statements in the root is no decision of the search.
"""

from functools import partial

import pytest

from tests import kernels
from tests.unit.solver.families.boundaries import CANNOT_BE_SAID, Boundary, assert_built, assert_checked
from tests.unit.solver.families.kernels import rings, there_and_back
from tests.unit.solver.families.situations import ROOT, Situation, start


def ahead(stage: int, depth: int) -> Situation:
    """The load role fills the second ring ``stage`` iterations late, while the consumer holds both at once."""
    situation = rings().pipeline("as", depth=depth).pipeline("bs", depth=depth)
    return situation.body(
        "k", "load", "acquire:as", "copy_a", "commit:as", f"acquire:bs@{stage}", "copy_b", f"commit:bs@{stage}"
    )


def loads(*words: str) -> Situation:
    """Attention, whose consumer waits for its queries before the loop, with another order of the loads in the root."""
    return start(kernels.attention(64, 64, 64, threads=128)).body(ROOT, "load", *words)


BOUNDARIES = (
    Boundary(
        "deadlock",
        "waits-for-ever",
        partial(ahead, 1, 2),
        partial(ahead, 2, 2),
        forbidden_by="pipeline_depth",
        about="one version short",
    ),
    Boundary(
        "deadlock",
        "waits-for-ever",
        partial(loads, "acquire:qs", "copy_q", "commit:qs", "k"),
        partial(loads, "k", "acquire:qs", "copy_q", "commit:qs"),
        CANNOT_BE_SAID,
        about="crossed",
    ),
    Boundary(
        "deadlock",
        "waits-for-ever-later",
        partial(there_and_back, 1),
        partial(there_and_back, 2),
        forbidden_by="pipeline_depth",
    ),
)


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=str)
def test_check_refuses_what_breaks_only_this_rule(boundary: Boundary) -> None:
    assert_checked(boundary)


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=str)
def test_build_forbids_what_check_refuses(boundary: Boundary) -> None:
    assert_built(boundary)
