"""Explanations as a user reads them: the question, the numbers, and changes that were found to help."""

import json
from dataclasses import replace

import pytest

from tests import kernels
from warpwright.solver.domain.errors import PinError
from warpwright.solver.domain.kernel import Memory
from warpwright.solver.domain.pins import DepthPin, Pins, RolePin
from warpwright.solver.domain.verdict import ProvenOptimal
from warpwright.solver.engines import Budget
from warpwright.solver.explain import explain, explain_problem, parse
from warpwright.solver.profiles import load_profile
from warpwright.solver.warp.problem import close_problem
from warpwright.solver.warp.solve import solve

H200 = load_profile("h200")
GEMM = close_problem(kernels.gemm(), H200)


def test_a_depth_that_memory_does_not_hold() -> None:
    found = explain(kernels.gemm(), H200, "pipelines.as_bs.depth=4")
    assert found.possible is False
    assert "4 x 48 KiB = 192 KiB" in found.answer
    assert "a block has 227 KiB, which hold depth 3 (30 KiB too much)" in found.answer
    # Without one of the two pins the other buffer is still in the same pipeline, so neither alone is a reason.
    assert [(each.family, each.relaxation) for each in found.conflicts] == [("shared_memory", "30,720 bytes less")]
    changes = [way.change for way in found.relaxations]
    assert changes[0] == "with As at depth 3 and Bs at depth 3"
    assert any(change.startswith("with half the tile") for change in changes)
    assert any(change.startswith("without Cs") for change in changes)
    assert "possible with As at depth 3" in str(found)


def test_what_a_relaxation_says_is_true() -> None:
    found = explain(kernels.gemm(), H200, "pipelines.as_bs.depth=4")
    again = explain(kernels.gemm(), H200, found.relaxations[0].why)
    assert again.possible is True


def test_an_interval_that_no_depth_in_memory_reaches() -> None:
    found = explain(kernels.gemm(256, 128, 128), H200, "loops.k.interval=2048")
    assert found.possible is False
    assert "one iteration of k takes 2,850 cycles by busy:shared" in found.answer
    found = explain(kernels.gemm(256, 128, 128), H200, "loops.k.interval=3000")
    assert found.possible is False
    assert "consumer needs depth >= 2 of As (64 KiB" in found.answer
    assert "a block has 227 KiB" in found.answer
    assert found.relaxations[0].change.startswith("with an interval of")
    found = explain(kernels.gemm(256, 128, 128), H200, "loops.k.interval=3603")
    assert found.possible is True, "with a load in the consumer"


def test_an_interval_below_the_bound_names_the_unit() -> None:
    found = explain(kernels.gemm(), H200, "loops.k.interval=900")
    assert "cycles by contention:products and loads" in found.answer
    (way,) = found.relaxations
    assert explain(kernels.gemm(), H200, way.why).possible is True


def test_a_budget_beyond_the_pool() -> None:
    found = explain(kernels.gemm(), H200, "roles.consumer.registers=256")
    assert found.possible is False
    assert "budgets 256/256/24 need 68,608 registers, the launch gave 64,512" in found.answer
    assert "of 256 registers" not in found.answer, "what fits is no reason"
    assert found.relaxations[0].why == "roles.consumer.registers=240"


def test_a_width_that_the_tile_does_not_divide_over() -> None:
    found = explain(kernels.attention(), H200, "consumer_warpgroups=3")
    assert found.possible is False
    assert "cannot be divided" in found.answer or "no fullrow partition" in found.answer
    assert found.relaxations[0].why == "consumer_warpgroups=2"


def test_a_possible_choice_says_what_it_costs() -> None:
    found = explain(kernels.gemm(), H200, "pipelines.as_bs.depth=2")
    assert found.possible is True
    assert "interval 1,237 without it" in found.answer
    assert {fact.resource for fact in found.facts} >= {"shared memory", "register pool", "consumer registers"}
    assert all(fact.slack is None or fact.slack >= 0 for fact in found.facts)


def test_a_pin_of_the_request_is_one_of_the_things_to_drop() -> None:
    found = explain(kernels.gemm(), H200, "buffers.Bs.depth=4", pins=Pins(depths=(DepthPin("As", 4),)))
    assert found.possible is False
    changes = [way.change for way in found.relaxations]
    assert changes[:2] == ["with Bs at depth 3", "without the pin buffers.As.depth=4"]


def test_a_whole_kernel_says_what_binds_and_what_is_left() -> None:
    found = explain(kernels.gemm(), H200)
    assert found.possible is True
    assert found.binding == ("shared", "shared_memory", "register_pool")
    memory = next(fact for fact in found.facts if fact.resource == "shared memory")
    assert (memory.used, memory.slack) == (214_016, 18_432)
    assert sum(amount for _, amount in memory.holders) == memory.used
    assert found.bounds[0].reason == "contention:products and loads"


def test_a_kernel_without_a_schedule_gets_a_way_out() -> None:
    found = explain(kernels.gemm(128, 128, 512), H200)
    assert found.possible is False
    assert found.answer.startswith("No legal schedule")
    assert found.relaxations
    registers = explain(kernels.too_many_accumulators(), H200)
    assert "538 of 256 registers per thread" in registers.answer
    assert registers.relaxations[0].change == "with a quarter of the block tile"


def test_tensor_memory_is_counted_with_every_buffer_of_it() -> None:
    graph = kernels.blackwell_gemm()
    accumulator = next(buffer for buffer in graph.buffers if buffer.memory is Memory.TENSOR)
    spare = replace(accumulator, name="spare", shape=(128, 512), bytes=128 * 512 * 4)
    found = explain(replace(graph, buffers=(*graph.buffers, spare)), load_profile("b200"))
    assert found.possible is False
    assert "640 columns of tensor memory; there are 512" in found.answer
    (reason,) = found.conflicts
    assert (reason.family, reason.relaxation) == ("tensor_memory", "128 columns less")


def test_an_undecided_question_is_not_called_impossible() -> None:
    found = explain_problem(GEMM, "pipelines.as_bs.depth=2", engine="z3", budget=Budget(1, 60.0))
    assert found.possible is None
    assert "Not decided" in found.answer


def test_an_answer_is_json() -> None:
    body = explain(kernels.gemm(), H200, "pipelines.as_bs.depth=4").to_dict()
    assert body["schema"] == "warpwright.explanation/1"
    assert json.loads(json.dumps(body))["possible"] is False


@pytest.mark.parametrize(
    ("why", "pins"),
    [
        ("pipelines.as_bs.depth=4", [("depths", "As", 4), ("depths", "Bs", 4)]),
        ("pipelines.ab.depth=4", [("depths", "As", 4), ("depths", "Bs", 4)]),
        ("pipelines.As+Bs.depth=4", [("depths", "As", 4), ("depths", "Bs", 4)]),
        ("pipelines.as.depth=2", [("depths", "As", 2)]),
        ("pipelines.b.depth=2", [("depths", "Bs", 2)]),
        ("buffers.As.depth=2, buffers.Bs.depth=3", [("depths", "As", 2), ("depths", "Bs", 3)]),
    ],
)
def test_pipelines_go_by_their_names(why: str, pins: list[tuple[str, str, int]]) -> None:
    assert [("depths", pin.buffer, pin.depth) for pin in parse(why, GEMM).pins.depths] == pins


@pytest.mark.parametrize(
    "why",
    [
        "roles.load.warps=8..9",
        "roles.consumer.registers=232",
        "ops.mma.role=consumer",
        "ops.mma.stage=0",
        "pipelines.merged=false",
        "merged_pipelines=true",
        "pipelines.ab.buffers=As+Bs",
        "store_role=true",
        "software_pipelining=false",
        "consumer_warpgroups=2",
        "roles.consumer.warpgroups=2",
    ],
)
def test_every_choice_of_the_grammar_is_a_pin(why: str) -> None:
    question = parse(why, GEMM)
    assert question.pins != Pins()
    assert isinstance(solve(GEMM.with_pins(question.pins)), ProvenOptimal)


@pytest.mark.parametrize(
    "why",
    ["", "depth", "pipelines.zz.depth=4", "pipelines.ab.depth=four", "roles.load.warps=8", "store_role=yes", "a.b.c=1"],
)
def test_what_cannot_be_read_is_refused(why: str) -> None:
    with pytest.raises(PinError) as refused:
        parse(why, GEMM)
    assert refused.value.code == "why-unreadable"


def test_registers_by_role_pin() -> None:
    assert parse("roles.load.registers=40", GEMM).pins.roles == (RolePin("load", registers_per_thread=40),)


def test_a_load_that_cannot_leave_its_role_is_explained_with_the_role_that_can_have_it() -> None:
    found = explain(kernels.rewrites_after_use(), H200, "ops.next.role=load,ops.first.role=load")
    assert found.possible is False
    assert "an iteration of k earlier" in found.answer
    found = explain(kernels.rewrites_after_use(), H200, "ops.next.role=load")
    assert found.possible is False
    assert [way.change for way in found.relaxations] == ["with next in the consumer role"]
    assert explain(kernels.rewrites_after_use(), H200, found.relaxations[0].why).possible is True


def test_the_explanation_of_a_kernel_says_which_loads_are_plain_copies() -> None:
    facts = {fact.resource: fact.note for fact in explain(kernels.rewrites_after_use(), H200).facts}
    assert "first and next run as plain copies" in facts["buffers that change hands"]
