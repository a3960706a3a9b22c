"""Certificates of warp schedules: what follows is computed again, a claim is named as one, and no field escapes."""

from dataclasses import fields, replace

import pytest

from tests import kernels
from tests.forging import forgeries
from warpwright.solver.domain import (
    Bound,
    Certificate,
    Feasible,
    KernelGraph,
    Pins,
    PlacementPin,
    ProvenOptimal,
    RolePin,
    WarpSchedule,
)
from warpwright.solver.domain.certificate_check import (
    CertificateCheck,
    FieldFinding,
    ProofFinding,
    check_fields,
    check_status,
)
from warpwright.solver.engines import Budget
from warpwright.solver.profiles import load_profile
from warpwright.solver.warp.certificate_check import certified_problem, check_certificate
from warpwright.solver.warp.certify import account_of, certificate_with, searched
from warpwright.solver.warp.problem import close_problem
from warpwright.solver.warp.recheck import recheck
from warpwright.solver.warp.solve import solve

H200 = load_profile("h200")
BUDGET = Budget(work_limit=20_000, wall_seconds=60.0)
SEARCHES = {"engine", "engine_version", "seed", "work", "work_limit"}
"""Fields that say what a search did."""


def solved(graph: KernelGraph, pins: Pins | None = None) -> tuple[WarpSchedule, Certificate]:
    verdict = solve(close_problem(graph, H200, pins))
    assert isinstance(verdict, ProvenOptimal | Feasible)
    assert isinstance(verdict.schedule, WarpSchedule)
    return verdict.schedule, verdict.certificate


def checked(graph: KernelGraph, schedule: WarpSchedule, certificate: Certificate) -> CertificateCheck:
    problem, fault = certified_problem(graph, H200, schedule, certificate)
    return check_certificate(problem, schedule, certificate, fault)


@pytest.mark.parametrize("graph", [kernels.gemm(), kernels.scattered()])
def test_a_true_certificate_holds_and_every_forged_field_is_refused_or_said_to_be_unchecked(graph: KernelGraph) -> None:
    schedule, certificate = solved(graph)
    true = checked(graph, schedule, certificate)
    assert true.refused == ()
    assert set(true.unchecked) == SEARCHES
    assert {check.field for check in true.fields} == {field.name for field in fields(Certificate)}
    forged: set[str] = set()
    for field, copy in forgeries(certificate):
        found = checked(graph, schedule, copy)
        forged.add(field)
        assert found.refused or field in found.unchecked, (field, copy)
        assert field in SEARCHES or found.refused, (field, copy)
    assert forged == {field.name for field in fields(Certificate)}


def test_a_checker_that_forgets_a_field_is_an_error() -> None:
    _, certificate = solved(kernels.scattered())
    with pytest.raises(KeyError, match="oracle"):
        check_fields(certificate, {})


def test_a_long_interval_with_a_search_claim_is_a_claim_and_refuted_by_the_second_engine() -> None:
    """The forgery of the issue: every pipeline cut to depth 1, the longer interval called the bound by a search."""
    graph = kernels.gemm()
    best, certificate = solved(graph)
    schedule = replace(best, pipelines=tuple(replace(each, depth=1) for each in best.pipelines))
    problem, _ = certified_problem(graph, H200, schedule, certificate)
    wrong = {each.place: each.message for each in checked(graph, schedule, certificate).refused}
    assert {"initiation_interval_cycles", "on_chip_bytes", "gap_cycles"} <= wrong.keys()
    interval = int(wrong["initiation_interval_cycles"].rsplit(" ", 1)[1].replace(",", ""))
    assert interval > (certificate.initiation_interval_cycles or 0)
    forged = certificate_with(problem, schedule, replace(account_of(certificate), proven=True))
    assert forged.lower_bound == Bound(interval, searched("cpsat"))
    found = checked(graph, schedule, forged)
    assert found.refused == ()
    assert [proof.finding for proof in found.proofs] == [ProofFinding.CLAIMED]
    assert "claimed by cpsat, not rechecked" in found.proofs[0].sentence
    proof = recheck(problem, schedule, interval, engine="z3", budget=BUDGET)
    assert proof.finding is ProofFinding.REFUTED
    other = replace(forged, lower_bound=Bound(interval, "search:anything else"))
    assert {each.code for each in checked(graph, schedule, other).refused} >= {
        "certificate/lower-bound",
        "certificate/gap-cycles",
    }


def test_a_true_bound_is_rechecked_without_what_arithmetic_knows() -> None:
    for graph in (kernels.gemm(), kernels.scattered()):
        schedule, certificate = solved(graph)
        problem, _ = certified_problem(graph, H200, schedule, certificate)
        proof = recheck(problem, schedule, certificate.lower_bound.cycles, engine="z3", budget=BUDGET)
        assert proof.finding is ProofFinding.RECHECKED
        assert "rechecked by z3: nothing shorter" in proof.sentence
        less = replace(BUDGET, work_limit=1)
        assert recheck(problem, schedule, 1, engine="z3", budget=less).finding is ProofFinding.UNDECIDED


def test_pins_give_the_problem_again_and_wrong_ones_are_refused() -> None:
    graph, pins = kernels.gemm(), Pins(consumer_warpgroups=2, merged_pipelines=True)
    schedule, certificate = solved(graph, pins)
    assert certificate.pins == pins
    assert checked(graph, schedule, certificate).refused == ()
    for wrong in (
        Pins(),
        Pins(consumer_warpgroups=2),
        Pins(consumer_warpgroups=3),
        Pins(roles=(RolePin("nobody", registers_per_thread=24),)),
    ):
        refused = {each.place for each in checked(graph, schedule, replace(certificate, pins=wrong)).refused}
        assert refused & {"pins", "problem_digest"}, wrong


def test_a_status_needs_its_proof() -> None:
    graph = kernels.gemm(
        256, 128, 128
    )  # two versions of either operand fit, of both they do not: only a search can say so
    schedule, certificate = solved(
        graph, Pins(placements=(PlacementPin("copy_a", "load"), PlacementPin("copy_b", "load")))
    )
    proofs = checked(graph, schedule, certificate).proofs
    assert check_status("proven_optimal", proofs).finding is FieldFinding.CONFIRMED
    bound = checked(graph, schedule, certificate).proofs[0]
    assert bound.finding is ProofFinding.CLAIMED
    account = replace(account_of(certificate), proven=False)
    open_gap = certificate_with(close_problem(graph, H200, certificate.pins), schedule, account)
    found = checked(graph, schedule, open_gap)
    assert found.refused == ()
    assert check_status("proven_optimal", found.proofs).finding is FieldFinding.REFUSED
    assert check_status("feasible", found.proofs).finding is FieldFinding.UNCHECKED


def test_a_placement_that_the_budget_was_too_small_for_is_named_and_an_arithmetic_bound_needs_none() -> None:
    told, words = ("stores in their own role",), "; not proven for stores in their own role: budget"
    for graph, said in ((kernels.rewrites_after_use(), words), (kernels.gemm(), "")):
        schedule, certificate = solved(graph)
        account = replace(account_of(certificate), undecided=told)
        cut = certificate_with(close_problem(graph, H200), schedule, account)
        assert said in cut.sentence
        assert ("budget" in cut.sentence) is bool(said)
        assert checked(graph, schedule, cut).refused == ()
        assert account_of(cut).undecided == (told if said else ())
