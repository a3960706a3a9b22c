"""Every annotation form of seeds/ascend_annotations.txt as a pin, and every wrong form with its code."""

from typing import Any

import pytest

from tests.unit.solver.ascend.kernels import gemm_graph
from tests.unit.solver.ascend.test_calls import gemm_call
from warpwright.solver.ascend.pins import buffer_pin, checked_pins, manual_pin, merged_pins, opted_out
from warpwright.solver.domain import BufferPin, PinError, Pins
from warpwright.solver.explain.ascend_kernel import explain_graph
from warpwright.solver.profiles import load_profile

SHAPES = {"a": (2, 128), "b": (64,), "c": (3, 4)}


@pytest.mark.parametrize(
    ("specification", "expected"),
    [
        (1, BufferPin("a", 1)),
        (4, BufferPin("a", 4)),
        ((2, "counter"), BufferPin("a", 2, "counter")),
        ((1, "auto"), BufferPin("a", 1, "auto")),
        ([3, "iteration"], BufferPin("a", 3, "iteration")),
        ("iteration", BufferPin("a", None, "iteration")),
        ("auto", BufferPin("a", None, "auto")),
    ],
)
def test_forms_of_buffer_versions(specification: Any, expected: BufferPin) -> None:
    assert buffer_pin("a", specification) == expected


def test_only_the_bare_count_of_one_opts_out() -> None:
    assert opted_out(buffer_pin("a", 1))
    assert not opted_out(buffer_pin("a", (1, "auto")))
    assert not opted_out(buffer_pin("a", 2))


@pytest.mark.parametrize(
    ("specification", "code"),
    [
        (0, "pin-version-count"),
        (-1, "pin-version-count"),
        (2.0, "pin-version-count"),
        (True, "pin-version-count"),
        (None, "pin-version-count"),
        ((2,), "pin-version-form"),
        ((2, "auto", 1), "pin-version-form"),
        ((2, "ring"), "pin-version-mode"),
        ("ring", "pin-version-mode"),
        ((0, "auto"), "pin-version-count"),
    ],
)
def test_wrong_forms_of_buffer_versions(specification: Any, code: str) -> None:
    with pytest.raises(PinError) as error:
        buffer_pin("a", specification)
    assert error.value.code == code
    assert error.value.place == "a"


def test_rings_by_hand() -> None:
    assert manual_pin("a", (2, 128)) == BufferPin("a", manual_versions=2)
    assert manual_pin("b", (384,), 3) == BufferPin("b", manual_versions=3)
    for shape, versions, code in [((None, 4), None, "pin-manual-shape"), ((2,), 0, "pin-manual-count")]:
        with pytest.raises(PinError) as error:
            manual_pin("a", shape, versions)
        assert error.value.code == code


@pytest.mark.parametrize(
    ("pins", "code"),
    [
        (Pins(buffers=(BufferPin("nobody", 2),)), "pin-unknown-buffer"),
        (Pins(buffers=(BufferPin("a"),)), "pin-empty"),
        (Pins(buffers=(BufferPin("a", 2, manual_versions=2),)), "pin-manual-and-automatic"),
        (Pins(buffers=(BufferPin("a", 2), BufferPin("a", 3))), "pin-alias-conflict"),
        (Pins(buffers=(BufferPin("a", 2, "counter"), BufferPin("a", 2, "auto"))), "pin-alias-conflict"),
        (Pins(unlimited_memories=("shared.l2",)), "pin-unlimited-scope"),
    ],
)
def test_pins_that_fit_no_kernel(pins: Pins, code: str) -> None:
    with pytest.raises(PinError) as error:
        checked_pins(pins, SHAPES)
    assert error.value.code == code


@pytest.mark.parametrize("scope", ["shared", "shared.l1", "shared.l0c", "shared.l0a", "shared.l0b"])
def test_every_memory_can_be_freed(scope: str) -> None:
    assert checked_pins(Pins(unlimited_memories=(scope, scope)), SHAPES).unlimited_memories == (scope,)


def test_the_request_wins_over_the_source_and_leaves_it_alone() -> None:
    """Bug case 43: pinned and annotated values are merged, and no request object changes."""
    source = Pins(buffers=(BufferPin("a", 3, "counter"), BufferPin("b", 2)), unlimited_memories=("shared",))
    asked = Pins(buffers=(BufferPin("a", 2), BufferPin("b", 1)), unlimited_memories=("shared.l1",))
    merged = merged_pins(source, asked)
    assert merged.buffers == (BufferPin("a", 2, "counter"), BufferPin("b", 1))
    assert merged.unlimited_memories == ("shared", "shared.l1")
    assert asked.buffers == (BufferPin("a", 2), BufferPin("b", 1))


@pytest.mark.parametrize("why", ["buffers.A.versions=0", "buffers.A.versions=1000000000000", "buffers.A.manual=-2"])
def test_questions_have_the_domains_of_pins(why: str) -> None:
    """A trillion versions was answered with a sum of bytes; zero without what is allowed."""
    with pytest.raises(PinError, match=r"allowed: 1 to 16,384 \(versions\)"):
        explain_graph(gemm_graph(gemm_call()), load_profile("ascend950"), why)
