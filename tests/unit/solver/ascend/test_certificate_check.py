"""Certificates of Ascend schedules: what follows is computed again, a claim is named as one, and no field escapes."""

from dataclasses import fields, replace

import pytest

from tests.forging import forgeries
from tests.unit.solver.ascend.kernels import gemm_graph, nested_graph, straight_graph
from tests.unit.solver.ascend.test_calls import gemm_call
from warpwright.solver.ascend.certificate_check import check_certificate
from warpwright.solver.ascend.certify import account_of, certificate_with
from warpwright.solver.ascend.kernel_solve import solve_graph
from warpwright.solver.ascend.recheck import recheck
from warpwright.solver.ascend.verify import verify_buffers
from warpwright.solver.domain import (
    Bound,
    BufferPin,
    BufferSchedule,
    Certificate,
    KernelGraph,
    Pins,
    ProvenOptimal,
)
from warpwright.solver.domain.certificate_check import CertificateCheck, ProofFinding
from warpwright.solver.engines import Budget
from warpwright.solver.profiles import load_profile

A950 = load_profile("ascend950")
BUDGET = Budget(work_limit=20_000, wall_seconds=60.0)
CLAIMS = {"engine", "engine_version", "seed", "work", "work_limit", "oracle"}
"""Fields that say what a search did, or what another tool said."""
GEMM = gemm_graph(gemm_call())


def solved(graph: KernelGraph, pins: Pins | None = None) -> tuple[BufferSchedule, Certificate]:
    verdict = solve_graph(graph, A950, pins)
    assert isinstance(verdict, ProvenOptimal)
    assert isinstance(verdict.schedule, BufferSchedule)
    return verdict.schedule, verdict.certificate


def checked(graph: KernelGraph, schedule: BufferSchedule, certificate: Certificate) -> CertificateCheck:
    return check_certificate(graph, A950, schedule, certificate)


@pytest.mark.parametrize("graph", [GEMM, nested_graph()], ids=["loop", "nested"])
@pytest.mark.parametrize("pins", [Pins(), Pins(buffers=(BufferPin("A", 3),))], ids=["free", "pinned"])
def test_every_forged_field_is_refused_or_said_to_be_unchecked(graph: KernelGraph, pins: Pins) -> None:
    schedule, certificate = solved(graph, pins)
    true = checked(graph, schedule, certificate)
    assert true.refused == ()
    assert set(true.unchecked) == CLAIMS
    forged: set[str] = set()
    for field, copy in forgeries(certificate):
        found = checked(graph, schedule, copy)
        forged.add(field)
        assert found.refused or field in found.unchecked, (field, copy)
        assert field in CLAIMS or found.refused or (field, pins) == ("problem_digest", pins), (field, copy)
    assert forged == {field.name for field in fields(Certificate)}


def test_a_forged_schedule_is_illegal_or_makes_its_certificate_false() -> None:
    """Every field of the schedule in turn; who fixed a value is for the user to say, and changes the scope of the proof."""
    graph = nested_graph()
    schedule, certificate = solved(graph)
    for field, copy in forgeries(schedule):
        if verify_buffers(graph, A950, copy):
            continue
        refused = {each.place for each in checked(graph, copy, certificate).refused}
        assert refused & {"pins", "scope", "initiation_interval_cycles", "total_cycles", "schedule_length_cycles"}, (
            field
        )


def test_a_worse_interval_with_a_search_claim_is_refuted_by_the_second_engine() -> None:
    graph = GEMM
    best, certificate = solved(graph)
    (loop,) = best.loops
    interval = (loop.initiation_interval_cycles or 0) + 500
    tasks = tuple(replace(task, stage=task.start_cycle // interval) for task in loop.tasks)
    worse = replace(best, loops=(replace(loop, initiation_interval_cycles=interval, tasks=tasks),))
    assert verify_buffers(graph, A950, worse) == ()
    account = account_of(certificate, graph.calls)
    forged = certificate_with(graph, A950, worse, replace(account, searched={"k": Bound(interval, "search:all fails")}))
    found = checked(graph, worse, forged)
    assert found.refused == ()
    assert [proof.finding for proof in found.proofs] == [ProofFinding.CLAIMED]
    assert "claimed by exact, not rechecked" in found.proofs[0].sentence
    (proof,) = recheck(graph, A950, worse, forged, engine="cpsat", budget=BUDGET)
    assert proof.finding is ProofFinding.REFUTED


def test_what_the_second_engine_says_of_true_bounds() -> None:
    graph = nested_graph()
    schedule, certificate = solved(graph)
    for engine in ("cpsat", "z3"):
        proofs = recheck(graph, A950, schedule, certificate, engine=engine, budget=BUDGET)
        assert [(proof.place, proof.finding) for proof in proofs] == [
            ("k", ProofFinding.RECHECKED),
            ("w", ProofFinding.RECHECKED),
        ]


def test_a_straight_list_is_rechecked_by_its_makespan() -> None:
    graph = straight_graph(
        {
            "kind": "straight",
            "latencies": [10, 20],
            "iis": [10, 20],
            "resource_flags": [2, 16],
            "data_deps": [[0, 1, 10]],
            "resource_deps": [],
        }
    )
    schedule, certificate = solved(graph)
    assert checked(graph, schedule, certificate).refused == ()
    (proof,) = recheck(graph, A950, schedule, certificate, engine="cpsat", budget=BUDGET)
    assert (proof.finding, proof.sentence.startswith("makespan 30")) == (ProofFinding.RECHECKED, True)


def test_a_bound_that_the_schedule_contradicts_counts_for_nothing() -> None:
    schedule, certificate = solved(GEMM)
    account = replace(account_of(certificate, GEMM.calls), searched={"k": Bound(10**6, "search:all fails")})
    assert certificate_with(GEMM, A950, schedule, account) == certificate
