"""Modulo answers from elsewhere: what follows is computed again, a claim is named as one, and no key escapes."""

import json
from dataclasses import fields, replace

import pytest

from tests.forging import forgeries
from tests.unit.solver.modulo.tiny import chain, two_groups
from warpwright.solver.domain import Bound, DocumentError
from warpwright.solver.domain.certificate_check import ProofFinding
from warpwright.solver.engines import Budget
from warpwright.solver.modulo import ModuloProblem, answer_document, solve, verify
from warpwright.solver.modulo.certificate_check import check_answer
from warpwright.solver.modulo.least import SEARCHED
from warpwright.solver.modulo.recheck import recheck, recheck_length
from warpwright.solver.modulo.stated_answer import StatedAnswer, parse_answer

BUDGET = Budget(work_limit=20_000, wall_seconds=60.0)
SEARCHES = {"engine", "engine_version", "polished_by", "attempts", "seconds", "length_proven"}
"""Keys that say what a search did."""
BY_SEARCH = {"bound", "proven_by"}
"""Keys that are claims where an engine proved the bound."""


def answered(problem: ModuloProblem) -> StatedAnswer:
    return parse_answer(json.dumps(answer_document(problem, solve(problem), seconds=0.25)))


@pytest.mark.parametrize("problem", [chain(), two_groups(), two_groups(registers=4)])
def test_a_true_answer_holds_and_every_forged_key_is_refused_or_said_to_be_unchecked(problem: ModuloProblem) -> None:
    answer = answered(problem)
    true = check_answer(problem, answer.placed(problem), answer)
    assert true.refused == ()
    claims = SEARCHES | (BY_SEARCH if answer.proven_by != "arithmetic" else set())
    assert set(true.unchecked) == claims
    forged: set[str] = set()
    for key, copy in forgeries(answer):
        forged.add(key)
        try:
            schedule = copy.placed(problem)
        except DocumentError:
            assert key in ("schedule", "interval")
            continue
        if verify(problem, schedule):
            assert key in ("schedule", "interval")
            continue
        found = check_answer(problem, schedule, copy)
        assert found.refused or key in found.unchecked, (key, copy)
        assert found.refused or key in claims, (key, copy)
    assert forged == {field.name for field in fields(StatedAnswer)}


def test_a_search_claim_is_named_and_a_false_one_is_refuted() -> None:
    problem = chain()
    answer = answered(problem)
    longer = answered(replace(problem, max_stages=1))
    assert longer.interval is not None
    assert longer.interval > answer.bound.cycles
    forged = replace(
        longer,
        problem_digest=answer.problem_digest,
        max_stages=problem.max_stages,
        bound=Bound(longer.interval, SEARCHED),
        bounds=answer.bounds,
        proven_by="cpsat",
    )
    found = check_answer(problem, forged.placed(problem), forged)
    assert found.refused == ()
    assert found.proofs[0].finding is ProofFinding.CLAIMED
    assert "claimed by cpsat, not rechecked" in found.proofs[0].sentence
    proof = recheck(problem, longer.interval, engine_name="z3", budget=BUDGET)
    assert proof.finding is ProofFinding.REFUTED
    assert recheck(problem, answer.bound.cycles, engine_name="z3", budget=BUDGET).finding is ProofFinding.RECHECKED


def test_a_length_is_rechecked_at_its_interval() -> None:
    problem = chain()
    answer = answered(problem)
    schedule = answer.placed(problem)
    assert recheck_length(problem, schedule, engine_name="z3", budget=BUDGET).finding is ProofFinding.RECHECKED
    late = replace(schedule, starts={**schedule.starts, "store": schedule.starts["store"] + schedule.interval})
    assert verify(problem, late) == ()
    proof = recheck_length(problem, late, engine_name="z3", budget=BUDGET)
    assert proof.finding is ProofFinding.REFUTED


def test_an_answer_is_read_strictly() -> None:
    document = answer_document(chain(), solve(chain()), seconds=0.1)
    for wrong, code in (
        ("[", "document-not-json"),
        (json.dumps({**document, "schema": "warpwright.modulo-answer/9"}), "document-schema"),
        (json.dumps({**document, "proof": "trust me"}), "document-invalid"),
    ):
        with pytest.raises(DocumentError) as refused:
            parse_answer(wrong)
        assert refused.value.code == code
