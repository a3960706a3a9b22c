"""A pipeline has one producer, one other consumer and one scope; spans are closed, do work, and cover every access.

Where spans begin and end is no decision of the search: decoding puts them around the work. So most of these boundaries are of
``check`` alone.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest

from tests.unit.solver.families.boundaries import CANNOT_BE_SAID, Boundary, assert_built, assert_checked
from tests.unit.solver.families.kernels import (
    nest,
    products,
    ring,
    ring_with_store,
    rings,
    two_in_one,
    two_stores,
    used_behind,
)
from tests.unit.solver.families.situations import ROOT, Situation
from warpwright.solver.domain.schedule import Pipeline


def unsaid(rule: str, legal: Callable[[], Situation], broken: Callable[[], Situation], about: str = "") -> Boundary:
    return Boundary("pipelines", rule, legal, broken, CANNOT_BE_SAID, about=about)


def declared(**changes: object) -> Callable[[], Situation]:
    return lambda: ring().pipeline("as_bs", **changes)  # type: ignore[arg-type]  # depth or buffers


def called_twice() -> Situation:
    situation = ring()
    pipelines = (Pipeline("as_bs", ("Cs",), 1), *situation.schedule.pipelines)
    return replace(situation, schedule=replace(situation.schedule, pipelines=pipelines))


def consumes(*words: str) -> Callable[[], Situation]:
    """The ring with another loop body of its consumer."""
    return lambda: ring().body("k", "consumer", *words)


def stores(*words: str) -> Callable[[], Situation]:
    """The ring with a store role, and another body of that role in the root, where no parity asks for balance."""
    return lambda: ring_with_store().body(ROOT, "store", *words)


def multiplies(*words: str) -> Callable[[], Situation]:
    """Two products with one operand, and another loop body of their role."""
    return lambda: products().body("k", "consumer", *words)


def loads_itself() -> Situation:
    """The consumer starts the load of an operand inside of the span in which it uses it."""
    situation = ring().body("k", "load", "acquire:as_bs", "copy_b", "commit:as_bs")
    return situation.body("k", "consumer", "wait:as_bs", "copy_a", "mma", "release:as_bs")


def adds_to_its_target() -> Situation:
    """The same with a load that reads its target, too: what it adds is seen by no barrier either."""
    situation = loads_itself()
    graph = situation.problem.graph
    ops = tuple(replace(op, reads=(*op.reads, *op.writes)) if op.id == "copy_a" else op for op in graph.ops)
    return replace(situation, problem=replace(situation.problem, graph=replace(graph, ops=ops)))


BOUNDARIES = (
    unsaid("pipeline-twice", ring, called_twice),
    unsaid("depth-below-one", declared(depth=1), declared(depth=0)),
    unsaid("no-buffers", ring, declared(buffers=())),
    unsaid("buffer-twice", ring, declared(buffers=("As", "Bs", "As"))),
    unsaid("unknown-buffer", ring, declared(buffers=("As", "Bs", "Zs"))),
    unsaid("private-buffer", ring, declared(buffers=("As", "Bs", "acc"))),
    unsaid("unknown-pipeline", ring, consumes("wait:as_bs", "mma", "release:as_bs", "wait:zs")),
    unsaid("one-scope", ring, lambda: ring().pipeline("more", buffers=("Cs",)), "none"),
    unsaid(
        "one-scope",
        ring,
        lambda: ring().body(ROOT, "load", "acquire:as_bs", "k", "commit:as_bs"),
        "two",
    ),
    unsaid("not-nested", rings, lambda: rings().pipeline("bs", buffers=("As", "Bs"))),
    unsaid("one-producer-one-consumer", ring_with_store, two_stores),
    unsaid(
        "parity-diverges",
        multiplies("wait:as", "mma_one", "mma_two", "release:as"),
        multiplies("wait:as", "mma_one", "release:as", "wait:as", "mma_two", "release:as"),
    ),
    unsaid(
        "opened-twice",
        consumes("wait:as_bs", "mma", "release:as_bs"),
        consumes("wait:as_bs", "wait:as_bs", "mma", "release:as_bs"),
    ),
    unsaid(
        "closed-unopened",
        stores("wait:cs", "store_c", "release:cs"),
        stores("wait:cs", "store_c", "release:cs", "release:cs"),
    ),
    unsaid("left-open", stores("wait:cs", "store_c", "release:cs"), stores("wait:cs", "store_c")),
    unsaid(
        "no-work",
        stores("wait:cs", "store_c", "release:cs"),
        stores("wait:cs", "store_c", "release:cs", "wait:cs", "release:cs"),
    ),
    unsaid(
        "outside-span",
        multiplies("wait:as", "mma_one", "mma_two", "release:as"),
        multiplies("wait:as", "mma_one", "release:as", "mma_two"),
    ),
    unsaid("outside-scope", used_behind, lambda: used_behind().without("as_in_root")),
    Boundary(
        "pipelines",
        "enclosing-span",
        nest,
        lambda: nest().body("outer", "load", "acquire:tile", "first", "commit:tile", "inner"),
        CANNOT_BE_SAID,
        legal_is_said=False,
    ),
    Boundary(
        "pipelines", "writes-two-pipelines", partial(two_in_one, together=True), partial(two_in_one, together=False)
    ),
    unsaid("asynchronous-unobserved", ring, loads_itself),
    unsaid("asynchronous-unobserved", ring, adds_to_its_target, "adds"),
)


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=str)
def test_check_refuses_what_breaks_only_this_rule(boundary: Boundary) -> None:
    assert_checked(boundary)


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=str)
def test_build_forbids_what_check_refuses(boundary: Boundary) -> None:
    assert_built(boundary)
