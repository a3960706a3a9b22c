"""The candidate as a value: its document, what its document leaves out, its id, and which names are stored."""

import json
from dataclasses import replace

import pytest

from tests import kernels
from warpwright.solver.domain import (
    BASELINES,
    Candidate,
    CandidateKind,
    DocumentError,
    Failure,
    Feasible,
    HardwareProfile,
    Outcome,
    Pins,
    Proposals,
    ProvenOptimal,
    RejectedStructure,
    Schedule,
    UndecidedStructure,
    candidate_id,
    dump,
    dumps,
    load,
    loads,
)
from warpwright.solver.profiles import load_profile
from warpwright.solver.warp.problem import close_problem
from warpwright.solver.warp.solve import solve


@pytest.fixture(scope="module")
def candidate() -> Candidate:
    verdict = solve(close_problem(kernels.gemm(), load_profile("h200")))
    assert isinstance(verdict, ProvenOptimal | Feasible)
    return Candidate(
        id=candidate_id("kernel", CandidateKind.SCHEDULED, verdict.schedule),
        variant=1,
        kind=CandidateKind.SCHEDULED,
        outcome=Outcome.WRONG_RESULT,
        params={"BM": 128, "name": "x"},
        schedule=verdict.schedule,
        certificate=verdict.certificate,
        status=verdict.status,
        structure={"pipelines": "merged"},
        forecast_ns=12.5,
        measurement={"spread_ns": 1.0, "sizes": [{"name": "M=8"}]},
        report={"ptxas": {"registers": 168}},
        not_honoured=("registers",),
        failure=Failure("wrong-result", "C differs"),
        seconds={"compile": 1.5},
        products={"binary": b"\x7fELF\xff"},
    )


def test_a_candidate_survives_its_document_but_for_its_products(candidate: Candidate) -> None:
    assert loads(Candidate, dumps(candidate)) == replace(candidate, products={})


def test_documents_inside_a_candidate_are_documents_of_their_own(candidate: Candidate) -> None:
    document = dump(candidate)
    assert document["schema"] == "warpwright.candidate/1"
    assert document["schedule"] == dump(candidate.schedule)
    assert document["certificate"] == dump(candidate.certificate)
    assert "products" not in document
    assert json.loads(json.dumps(document)) == document


def test_a_schedule_of_another_version_is_refused_with_its_place(candidate: Candidate) -> None:
    document = dump(candidate)
    document["schedule"]["schema"] = "warpwright.warp-schedule/2"
    with pytest.raises(DocumentError, match=r"warpwright\.warp-schedule/2") as refused:
        load(Candidate, document)
    assert str(refused.value.place).startswith("/schedule")


@pytest.mark.parametrize("schema", [{}, [], None, 1])
def test_a_schema_may_be_anything_and_is_refused(candidate: Candidate, schema: object) -> None:
    """A value without a hash was a server error."""
    for kind, document in ((Pins, {}), (HardwareProfile, {}), (Schedule, dump(candidate.schedule))):
        with pytest.raises(DocumentError, match="expected schema"):
            load(kind, {**document, "schema": schema})
    document = dump(candidate)
    document["schedule"]["schema"] = schema
    with pytest.raises(DocumentError, match="expected schema"):
        load(Candidate, document)


def test_proposals_survive_their_document(candidate: Candidate) -> None:
    rejected = RejectedStructure(0, {"depth": "9"}, ())
    proposals = Proposals((replace(candidate, products={}),), (rejected,), (UndecidedStructure(0, {}, "budget"),))
    assert loads(Proposals, dumps(proposals)) == proposals
    assert proposals.unknown == "1 structures undecided: budget"
    assert replace(proposals, ended="killed").unknown == "killed"


def test_ids_are_those_of_stored_candidates() -> None:
    """Databases hold them: a candidate that was measured before must be found again."""
    assert candidate_id("sha256:k", CandidateKind.DEFAULT, None) == "cand_f90a7e98102f1da29a575ecb"


def test_kinds_are_append_only_since_their_names_are_stored() -> None:
    stored = ["scheduled", "default", "role_based", "unspecialized"]
    assert [kind.value for kind in CandidateKind][: len(stored)] == stored
    assert [kind.value for kind in BASELINES] == stored[1:]
