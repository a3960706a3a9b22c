"""What the user fixed is what the schedule has; every pin alone forbids another value."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests import kernels
from tests.unit.solver.families.boundaries import CANNOT_BE_SAID, Boundary, assert_built, assert_checked
from tests.unit.solver.families.kernels import ring, ring_with_store, rings
from tests.unit.solver.families.situations import Situation, start
from warpwright.solver.domain.pins import DepthPin, Pins, PipelinePin, PlacementPin, RolePin, StagePin
from warpwright.solver.engines import Budget, EngineStatus, engine
from warpwright.solver.warp.solve import build_model

SOFTMAX = ("keep_max", "new_max", "factor", "exponent", "sum", "total", "cast", "scale")


def pinned(
    about: str, given: Callable[[], Situation], kept: Pins, broken: Pins, forbidden_by: str | None = None
) -> Boundary:
    """One schedule; the first pins say what it does, the second ones something else."""
    return Boundary(
        "pins",
        "pin-not-kept",
        lambda: given().pinned(kept),
        lambda: given().pinned(broken),
        forbidden_by,
        about=about,
        opened=False,
    )


def role(**values: int) -> Pins:
    return Pins(roles=(RolePin("load", **values),))


def stage(number: int) -> Pins:
    return Pins(stages=(StagePin("copy_b", number),))


def late() -> Situation:
    """Attention whose second product is of the iteration before."""
    body = ("clear_scores", "wait:ks", "qk", "release:ks", "wait:vs@1", "pv", "release:vs@1", *SOFTMAX)
    return start(kernels.attention(64, 64, 64, threads=128)).body("k", "consumer", *body)


def no_store() -> Situation:
    """A kernel that stores nothing."""
    return start(kernels.gemm(64, 64, 32, threads=128, epilogue=False))


def unasked_store() -> Situation:
    """A schedule with a store role, of a problem in which nobody asked for one."""
    return replace(ring(), schedule=ring_with_store().schedule)


BOUNDARIES = (
    pinned("first warp", ring, role(warps_lo=4), role(warps_lo=5)),
    pinned("last warp", ring, role(warps_hi=5), role(warps_hi=6)),
    pinned("registers", ring, role(registers_per_thread=24), role(registers_per_thread=32)),
    pinned("depth", ring, Pins(depths=(DepthPin("As", 2),)), Pins(depths=(DepthPin("As", 3),))),
    pinned("pipeline", ring, Pins(pipelines=(PipelinePin(("As", "Bs")),)), Pins(pipelines=(PipelinePin(("As",)),))),
    pinned("width", ring, Pins(consumer_warpgroups=1), Pins(consumer_warpgroups=2)),
    pinned("store role", no_store, Pins(store_role=False), Pins(store_role=True)),
    replace(
        pinned("no store role", unasked_store, Pins(), Pins(store_role=False), CANNOT_BE_SAID), legal_is_said=False
    ),
    pinned("merged", ring, Pins(merged_pipelines=True), Pins(merged_pipelines=False)),
    pinned("not merged", rings, Pins(merged_pipelines=False), Pins(merged_pipelines=True)),
    pinned("stage", rings, stage(0), stage(1)),
    pinned("in order", rings, Pins(software_pipelining=False), Pins(software_pipelining=True)),
    pinned("staged", late, Pins(software_pipelining=True), Pins(software_pipelining=False), CANNOT_BE_SAID),
    pinned(
        "placement",
        ring,
        Pins(placements=(PlacementPin("relu", "consumer"),)),
        Pins(placements=(PlacementPin("relu", "load"),)),
        CANNOT_BE_SAID,
    ),
)


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=str)
def test_check_refuses_what_breaks_only_this_rule(boundary: Boundary) -> None:
    assert_checked(boundary)


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=str)
def test_build_forbids_what_check_refuses(boundary: Boundary) -> None:
    assert_built(boundary)


def test_two_pins_of_one_statement_are_both_named() -> None:
    pins = Pins(placements=(PlacementPin("store_c", "consumer"), PlacementPin("store_c", "store")))
    problem = ring().problem.with_pins(pins)
    result = engine().solve(build_model(problem).model, Budget())
    assert result.status is EngineStatus.INFEASIBLE
    assert set(result.core) == {"pins", "pin:ops.store_c.role=consumer", "pin:ops.store_c.role=store"}
