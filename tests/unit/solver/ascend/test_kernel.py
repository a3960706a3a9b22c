"""A whole kernel from its graph: verdicts, memories of every kind, explanations in the common form."""

from dataclasses import replace

import pytest

from warpwright.solver.ascend import kernel_capacity
from warpwright.solver.ascend.kernel_solve import solve_graph
from warpwright.solver.ascend.verify import verify_buffers
from warpwright.solver.ascend.versions import buffer_versions, override_warnings, rule_mode
from warpwright.solver.domain import (
    BufferPin,
    BufferSchedule,
    HardwareProfile,
    Infeasible,
    Memory,
    PinError,
    Pins,
    ProvenOptimal,
    Quantity,
    VersionMode,
    dump,
    load,
)
from warpwright.solver.explain import explain
from warpwright.solver.explain.ascend_kernel import explain_graph
from warpwright.solver.profiles import load_profile

from .kernels import gemm_graph, graph_with
from .test_calls import gemm_call

A950 = load_profile("ascend950")


def with_number(profile: HardwareProfile, path: str, value: int) -> HardwareProfile:
    changed = tuple(replace(q, value=value) if q.path == path else q for q in profile.quantities)
    assert isinstance(changed[0], Quantity)
    return replace(profile, quantities=changed)


@pytest.mark.parametrize(
    ("memory", "limit"),
    [(Memory.UB, 253952), (Memory.L1, 524288), (Memory.L0A, 65536), (Memory.L0B, 65536), (Memory.L0C, 262144)],
)
@pytest.mark.parametrize("versions", [1, 2])
def test_each_memory_is_refused_on_its_own(memory: Memory, limit: int, versions: int) -> None:
    """Bug case 14: one guarded buffer is not enough; ping-pong halves the budget of each."""
    exact = graph_with({"a": (memory, limit // versions)})
    over = graph_with({"a": (memory, limit // versions + 1)})
    assert kernel_capacity.check(exact, A950, {"a": versions}) == []
    (violation,) = kernel_capacity.check(over, A950, {"a": versions})
    assert violation.place == memory.value
    assert f"{limit} available" in violation.message


def test_the_profile_alone_decides() -> None:
    """Bug case 13: twice the true size believed, and 256 bytes reserved."""
    graph = graph_with({"b": (Memory.L0B, 98304)})
    (violation,) = kernel_capacity.check(graph, A950, {})
    assert "98304 bytes needed, 65536 available" in violation.message
    assert kernel_capacity.check(graph, with_number(A950, "l0b.bytes", 131072), {}) == []
    reserved = with_number(A950, "l1.reserved", 256)
    assert kernel_capacity.check(graph_with({"a": (Memory.L1, 524032)}), reserved, {}) == []
    assert kernel_capacity.check(graph_with({"a": (Memory.L1, 524288)}), reserved, {}) != []
    assert kernel_capacity.check(graph_with({"a": (Memory.L1, 524288)}), A950, {}) == []


def test_simt_shrinks_the_unified_buffer() -> None:
    graph = graph_with({"a": (Memory.UB, 221185)}, simt=True)
    assert "221184 available" in kernel_capacity.check(graph, A950, {})[0].message
    assert kernel_capacity.check(replace(graph, simt=False), A950, {}) == []


def test_every_version_is_aligned() -> None:
    graph = graph_with({"a": (Memory.UB, 100)})
    (use,) = [u for u in kernel_capacity.uses(graph, A950, {"a": 3}) if u.memory is Memory.UB]
    assert use.needed_bytes == 3 * 128


def test_buffers_that_are_never_live_together_share() -> None:
    buffers = {"a": (Memory.UB, 150_000), "b": (Memory.UB, 150_000), "c": (Memory.UB, 100_000)}
    apart = graph_with(buffers, share={"a": ("b",), "b": ("a",)})
    assert kernel_capacity.check(graph_with(buffers), A950, {}) != []
    assert kernel_capacity.check(apart, A950, {}) == []


def test_a_kernel_is_solved_from_its_graph_and_verifies() -> None:
    graph = gemm_graph(gemm_call())
    verdict = solve_graph(graph, A950)
    assert isinstance(verdict, ProvenOptimal)
    schedule = verdict.schedule
    assert isinstance(schedule, BufferSchedule)
    assert {b.buffer: b.versions for b in schedule.buffers} == {"A": 2, "B": 2, "C": 1}
    assert verify_buffers(graph, A950, schedule) == ()
    assert verdict.certificate.initiation_interval_cycles == 1800
    assert verdict.certificate.verified
    assert load(ProvenOptimal, dump(verdict)) == verdict


def test_memory_of_a_smaller_device_changes_the_answer() -> None:
    """The call's own limits are TileLang's; a device with 200,000 bytes of L1 holds three tiles, not four."""
    verdict = solve_graph(gemm_graph(gemm_call()), with_number(A950, "l1.bytes", 200_000))
    assert isinstance(verdict, ProvenOptimal)
    schedule = verdict.schedule
    assert isinstance(schedule, BufferSchedule)
    assert sum(b.versions for b in schedule.buffers if b.buffer in "AB") == 3
    assert (verdict.certificate.initiation_interval_cycles or 0) > 1800


def test_an_infeasible_kernel_is_explained_in_the_common_form() -> None:
    graph = gemm_graph(gemm_call())
    small = with_number(A950, "l1.bytes", 122_000)
    verdict = solve_graph(graph, small)
    assert isinstance(verdict, Infeasible)
    explanation = explain(graph, small)
    assert explanation.possible is False
    assert "A 1 x 65536 + B 1 x 57344 = 122880 bytes needed, 122000 available" in explanation.answer
    assert explanation.conflicts[0].family == "memory_capacity"
    assert explanation.relaxations[0].change == "if you free 880 bytes: a smaller tile, or fewer fixed versions"
    assert explanation.to_dict()["schema"] == "warpwright.explanation/1"


def test_questions_about_versions_and_intervals() -> None:
    graph = gemm_graph(gemm_call())
    six = explain_graph(graph, A950, "buffers.A.versions=6, buffers.B.versions=3")
    assert six.possible is False
    assert "A 6 x 65536 + B 3 x 57344 = 565248 bytes needed, 524288 available" in six.answer
    # Freed bytes would help nothing that the counts do not: each way out is solved before it is named.
    assert [way.why for way in six.relaxations if way.why] == ["buffers.A.versions=5, buffers.B.versions=2"]
    for way in six.relaxations:
        assert not way.why or explain_graph(graph, A950, way.why).possible is True
    single = explain_graph(graph, A950, "buffers.C.versions=2")
    assert single.possible is False
    assert "C keeps 1 version: no loop may keep more of it" in single.answer
    assert explain_graph(graph, A950, single.relaxations[0].why).possible is True
    one = explain_graph(graph, A950, "buffers.A.versions=1")
    assert one.possible is True
    assert "k issues every 2646 cycles" in one.answer
    assert "best is k issues every 1800 cycles" in one.answer
    fast = explain_graph(graph, A950, "loops.k.interval=1799")
    assert fast.possible is False
    assert "1800 is the proven minimum (recurrence:2, 1800 cycles over 1)" in fast.answer
    assert fast.relaxations[0].why == "loops.k.interval=1800"
    assert explain_graph(graph, A950, "loops.k.interval=1800").possible is True
    whole = explain_graph(graph, A950)
    assert whole.binding == ("k: recurrence:2, 1800 cycles over 1",)
    assert {fact.resource: fact.used for fact in whole.facts} == {"l1": 245760, "l0c": 229376}


@pytest.mark.parametrize("why", ["buffers.A", "buffers.A.versions=two", "roles.load=1", ""])
def test_unreadable_questions(why: str) -> None:
    with pytest.raises(PinError) as error:
        explain_graph(gemm_graph(gemm_call()), A950, why)
    assert error.value.code == "why-unreadable"


def test_pins_say_who_chose() -> None:
    pins = Pins(buffers=(BufferPin("A", 3), BufferPin("B", None, "counter")))
    graph = replace(gemm_graph(gemm_call()), pins=pins)
    entries = {e.buffer: e for e in buffer_versions(graph, {"B": 2})}
    assert (entries["A"].versions, entries["A"].versions_chosen_by.value) == (3, "user")
    assert (entries["B"].versions, entries["B"].versions_chosen_by.value) == (2, "solver")
    assert (entries["B"].mode.value, entries["B"].mode_chosen_by.value) == ("counter", "user")
    assert (entries["C"].versions, entries["C"].versions_chosen_by.value, entries["C"].eligible) == (1, "rule", False)


def test_several_owners_or_a_condition_make_a_counter() -> None:
    graph = gemm_graph(gemm_call())
    assert rule_mode(graph, "A") is VersionMode.ITERATION
    shared = replace(graph, buffers=tuple(replace(b, owners=("k", "j")) for b in graph.buffers))
    assert rule_mode(shared, "A") is VersionMode.COUNTER
    guarded = replace(graph, ops=tuple(replace(op, guarded=True) for op in graph.ops))
    assert rule_mode(guarded, "A") is VersionMode.COUNTER


def test_dropped_counts_and_overridden_claims_warn_once() -> None:
    pins = Pins(buffers=(BufferPin("A", 1), BufferPin("C", 2)))
    graph = replace(gemm_graph(gemm_call()), pins=pins)
    first, second = override_warnings(graph, ("A",))
    assert first.startswith("A: the count 1 overrides")
    assert second.startswith("C: 2 versions were requested, but no loop may keep versions of it")
    assert override_warnings(graph, ()) == (second,)


def test_the_verifier_refuses_versions_nobody_may_keep() -> None:
    graph = gemm_graph(gemm_call())
    verdict = solve_graph(graph, A950)
    assert isinstance(verdict, ProvenOptimal)
    schedule = verdict.schedule
    assert isinstance(schedule, BufferSchedule)
    wrong = replace(schedule, buffers=tuple(replace(b, versions=2) for b in schedule.buffers))
    families = {violation.rule for violation in verify_buffers(graph, A950, wrong)}
    assert {"not-eligible", "whole-kernel"} <= families
    fewer = replace(schedule, buffers=tuple(replace(b, versions=1) for b in schedule.buffers))
    assert "live-copies" in {violation.rule for violation in verify_buffers(graph, A950, fewer)}
