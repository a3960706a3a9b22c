"""Proposals: verified, different, ranked, repeatable; infeasible structures with reasons; the expert's choice among them."""

from dataclasses import replace

import pytest

from benchmarks.kernels.graphs import attention_graph, gemm_graph
from tests import kernels
from tests.unit.solver.candidates.warp_schedules import warp_schedule
from warpwright.solver.candidates import propose, propose_family
from warpwright.solver.domain import ROOT, DepthPin, KernelGraph, Memory, Outcome, Pins, Proposals, dumps
from warpwright.solver.forecast import simulate
from warpwright.solver.profiles import load_profile
from warpwright.solver.warp.certificate_check import certified_problem, check_certificate
from warpwright.solver.warp.verify import verify

H200 = load_profile("h200")
GEMMS = [
    ({"BM": bm, "BN": bn, "threads": 128 * w}, gemm_graph(8192, 8192, 8192, bm, bn, 64, 3, w))
    for bm, bn, w in ((128, 256, 2), (256, 128, 2), (128, 128, 2), (128, 192, 2), (192, 192, 3))
]
ATTENTIONS = [
    ({"BM": bm, "BN": bn, "threads": 128 * w}, attention_graph(4, 16, 8192, 128, bm, bn, depth, w))
    for bm, bn, w, depth in ((128, 128, 2, 2), (192, 128, 3, 2), (128, 176, 2, 1))
]


@pytest.fixture(scope="module")
def gemm() -> Proposals:
    return propose_family(GEMMS, H200)


@pytest.fixture(scope="module")
def attention() -> Proposals:
    return propose_family(ATTENTIONS, H200)


def test_eight_verified_schedules_no_two_alike(gemm: Proposals, attention: Proposals) -> None:
    for proposals, family in ((gemm, GEMMS), (attention, ATTENTIONS)):
        assert len(proposals.candidates) == 8
        assert len({c.id for c in proposals.candidates}) == 8
        assert len({(c.variant, dumps(c.schedule)) for c in proposals.candidates}) == 8
        for candidate in proposals.candidates:
            assert verify(family[candidate.variant][1], H200, warp_schedule(candidate)) == ()
            assert candidate.certificate is not None
            assert candidate.certificate.verified
            graph, schedule = family[candidate.variant][1], warp_schedule(candidate)
            problem, fault = certified_problem(graph, H200, schedule, candidate.certificate)
            assert check_certificate(problem, schedule, candidate.certificate, fault).refused == ()
            assert candidate.outcome is Outcome.PROPOSED
            assert candidate.params == family[candidate.variant][0]


@pytest.mark.parametrize(("looped", "roles"), [(False, {"consumer"}), (True, {"consumer", "load"})])
def test_a_kernel_without_a_loop_gets_no_role_split(looped: bool, roles: set[str]) -> None:
    """Each role would run once: the consumer waits for the load role as long as for its own loads."""
    s = kernels.Sketch("scaled", 128)
    s.buffer("Xs", Memory.SHARED, (64, 64), "float32")
    s.buffer("Ys", Memory.SHARED, (64, 64), "float32")
    scope = s.loop("k", 16) if looped else ROOT
    s.load("copy_x", "Xs", scope, source="X")
    s.each("scale", ["Xs"], ["Ys"], scope, floats=64 * 64)
    s.store("store_y", "Ys", scope, target="Y")
    proposals = propose(s.graph(), H200, count=4)
    assert proposals.candidates
    assert {role.name for c in proposals.candidates for role in warp_schedule(c).roles if role.name != "store"} == roles
    assert {c.structure.get("roles", "") for c in proposals.candidates} == ({""} if looped else {"one"})


def test_best_forecast_first(gemm: Proposals, attention: Proposals) -> None:
    for proposals, family in ((gemm, GEMMS), (attention, ATTENTIONS)):
        times = [candidate.forecast_ns or 0.0 for candidate in proposals.candidates]
        assert times == sorted(times)
        played = [simulate(family[c.variant][1], H200, warp_schedule(c)).nanoseconds for c in proposals.candidates]
        assert played == times


def test_several_variants_or_widths_are_among_them(gemm: Proposals, attention: Proposals) -> None:
    for proposals in (gemm, attention):
        assert len({(c.variant, c.structure["consumer_warpgroups"]) for c in proposals.candidates}) >= 3


def test_the_experts_gemm_is_among_them(gemm: Proposals) -> None:
    found = [
        c
        for c in gemm.candidates
        if (c.params["BM"], c.params["BN"], c.structure["consumer_warpgroups"], c.structure["registers"])
        == (128, 256, "2", "24/240")
        and {p.depth for p in warp_schedule(c).pipelines if set(p.buffers) & {"As", "Bs"}} == {3}
    ]
    assert found
    assert warp_schedule(found[0]).role("consumer").registers_per_thread == 240


def test_the_experts_attention_is_among_them(attention: Proposals) -> None:
    found = [
        c
        for c in attention.candidates
        if (c.params["BM"], c.params["BN"], c.structure["consumer_warpgroups"], c.structure["registers"])
        == (192, 128, "3", "24/160")
    ]
    assert found
    assert {p.depth for p in warp_schedule(found[0]).pipelines if set(p.buffers) & {"Ks", "Vs"}} == {2}


def test_what_memory_cannot_hold_is_refused_with_the_numbers(gemm: Proposals) -> None:
    refused = [rejected for rejected in gemm.rejected if rejected.variant == 0]
    conflict = refused[0].conflicts[0]
    assert conflict.family == "shared_memory"
    assert "263,168 of 232,448 bytes" in conflict.message
    assert conflict.relaxation == "depth 3"


def test_equal_requests_get_equal_answers() -> None:
    family = GEMMS[:2]
    first, second = propose_family(family, H200, count=3), propose_family(family, H200, count=3)
    assert [dumps(c.schedule) for c in first.candidates] == [dumps(c.schedule) for c in second.candidates]
    assert first == second


def test_pins_are_kept_by_every_candidate() -> None:
    graph = ATTENTIONS[0][1]
    pins = Pins(depths=(DepthPin("Ks", 1), DepthPin("Vs", 2)), consumer_warpgroups=2)
    proposals = propose(graph, H200, count=3, pins=pins)
    assert proposals.candidates
    for candidate in proposals.candidates:
        depths = {name: p.depth for p in warp_schedule(candidate).pipelines for name in p.buffers}
        assert (depths["Ks"], depths["Vs"]) == (1, 2)
        assert warp_schedule(candidate).role("consumer").warps == 8


def test_pins_that_nothing_satisfies_give_no_candidate_and_a_reason() -> None:
    proposals = propose(GEMMS[0][1], H200, count=2, pins=Pins(depths=(DepthPin("As", 9), DepthPin("Bs", 9))))
    assert proposals.candidates == ()
    assert any(rejected.conflicts for rejected in proposals.rejected)
    assert proposals.infeasible


def test_infeasible_is_what_is_proven_of_every_variant() -> None:
    """Where nothing was asked nothing is proven, and one variant's proof is none of another's."""
    assert not propose(GEMMS[0][1], H200, count=0).infeasible
    pins = Pins(consumer_warpgroups=3)
    assert propose(GEMMS[0][1], H200, count=1, pins=pins).infeasible, "128 rows are no three warpgroups"
    both = propose_family([GEMMS[0], GEMMS[4]], H200, count=1, pins=pins)
    assert both.candidates
    assert not both.infeasible


def test_pins_of_the_kernel_itself_count_too() -> None:
    graph: KernelGraph = replace(GEMMS[0][1], pins=Pins(consumer_warpgroups=2, merged_pipelines=True))
    proposals = propose(graph, H200, count=2)
    assert {c.structure["pipelines"] for c in proposals.candidates} == {"merged"}


def test_persistent_kernels_get_candidates_although_scalars_live_in_several_roles() -> None:
    graph = kernels.persistent_gemm()
    proposals = propose(graph, H200, count=2)
    assert len(proposals.candidates) == 2
    assert all(verify(graph, H200, warp_schedule(candidate)) == () for candidate in proposals.candidates)


def test_tensor_memory_kernels_get_candidates_with_a_role_for_products() -> None:
    proposals = propose(kernels.blackwell_gemm(), load_profile("b200"), count=2)
    assert proposals.candidates
    assert all(any(role.name == "mma" for role in warp_schedule(c).roles) for c in proposals.candidates)


def test_a_kernel_that_no_schedule_fits_says_why() -> None:
    proposals = propose(kernels.too_many_accumulators(), H200, count=2)
    assert proposals.candidates == ()
    assert all(rejected.conflicts for rejected in proposals.rejected)
    assert proposals.undecided == ()
    assert proposals.rejected
    assert proposals.infeasible


def test_a_ring_turned_by_hand_has_candidates_with_plain_copies() -> None:
    proposals = propose(kernels.rewrites_after_use(), H200, count=2)
    assert len(proposals.candidates) == 2
    for candidate in proposals.candidates:
        assert {name for pipeline in warp_schedule(candidate).pipelines for name in pipeline.buffers} == {"Bs"}
        assert candidate.structure["depth"].startswith("Bs=")
