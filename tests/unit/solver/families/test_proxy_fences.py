"""What threads read is given back to bulk copies behind a fence, and ``cp.async`` is fenced before descriptors read it.

Where fences stand is no decision of the search: decoding puts them where they are needed.
"""

from dataclasses import replace
from functools import partial

import pytest

from tests.kernels import Sketch
from tests.unit.solver.families.boundaries import CANNOT_BE_SAID, Boundary, assert_built, assert_checked
from tests.unit.solver.families.kernels import ring, turns
from tests.unit.solver.families.situations import Situation, start
from warpwright.solver.domain.kernel import Memory, OpKind


def read(*words: str) -> Situation:
    """A ring that one operation reads through the generic proxy, with another body of its consumer."""
    return turns("fill", "use").body("k", "consumer", *words)


def copied(*words: str) -> Situation:
    """A ring that ``cp.async`` fills and a product reads by descriptors, with another body of its consumer."""
    s = Sketch("copied", 128)
    s.buffer("As", Memory.SHARED, (64, 64))
    s.buffer("acc", Memory.FRAGMENT, (64, 64), "float32")
    s.loop("k", 16)
    s.load("copy", "As", "k")
    s.ops[-1] = replace(s.ops[-1], kind=OpKind.ASYNC_LOAD, uses=())
    s.gemm("mma", "As", "As", "acc", (64, 64, 64), "k")
    return start(s.graph(), helper=168, consumer=168).body("k", "consumer", *words)


FENCED = ("wait:as", "use", "fence:as", "release:as")
BOUNDARIES = (
    Boundary(
        "proxy_fences", "release-unfenced", partial(read, *FENCED), partial(read, "wait:as", "use", "release:as"),
        CANNOT_BE_SAID, about="none",
    ),
    Boundary(
        "proxy_fences", "release-unfenced", partial(read, *FENCED),
        partial(read, "wait:as", "fence:as", "use", "release:as"), CANNOT_BE_SAID, about="before the read",
    ),
    Boundary(
        "proxy_fences", "fence-outside-span", partial(read, *FENCED), partial(read, *FENCED, "fence:as"),
        CANNOT_BE_SAID, about="behind the release",
    ),
    Boundary(
        "proxy_fences", "fence-outside-span", partial(read, *FENCED),
        lambda: read(*FENCED).body("k", "load", "acquire:as", "fill", "fence:as", "commit:as"),
        CANNOT_BE_SAID, about="of the producer",
    ),
    Boundary(
        "proxy_fences", "read-unfenced", partial(copied, "wait:as", "fence:as", "mma", "release:as"),
        partial(copied, "wait:as", "mma", "release:as"), CANNOT_BE_SAID,
    ),
)  # fmt: skip


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=str)
def test_check_refuses_what_breaks_only_this_rule(boundary: Boundary) -> None:
    assert_checked(boundary)


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=str)
def test_build_forbids_what_check_refuses(boundary: Boundary) -> None:
    assert_built(boundary)


def test_products_by_descriptors_ask_for_none() -> None:
    assert ring().codes() == set()
    assert "fence" not in str(ring().schedule)
