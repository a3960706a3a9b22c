"""The check of a modulo answer: what follows from problem and schedule is computed again, a search's claims are named.

An answer document is its own certificate. The interval's bound is arithmetic, which is computed again, or an engine's, which is
a claim; that no schedule of the interval is shorter in length is always a claim.
"""

import json
from dataclasses import fields

from warpwright.solver.domain.bound import Bound
from warpwright.solver.domain.certificate_check import (
    CertificateCheck,
    Claimed,
    Follows,
    ProofCheck,
    check_fields,
    proof_by_bound,
    proof_claimed,
    proof_missing,
)
from warpwright.solver.engines import engine_names
from warpwright.solver.modulo.answer import answer_document
from warpwright.solver.modulo.bounds import lower_bounds
from warpwright.solver.modulo.builder import CONSTRUCTIVE
from warpwright.solver.modulo.least import ARITHMETIC, SEARCHED, excluded
from warpwright.solver.modulo.problem import ModuloProblem, ModuloSchedule
from warpwright.solver.modulo.solve import ModuloAnswer
from warpwright.solver.modulo.stated_answer import StatedAnswer, parse_answer

__all__ = ["AMONG", "check_answer"]

AMONG = "within its stages"


def check_answer(problem: ModuloProblem, schedule: ModuloSchedule, stated: StatedAnswer) -> CertificateCheck:
    """What of an answer is so.

    Args:
        problem: The problem that it answers.
        schedule: Its schedule (:meth:`StatedAnswer.placed`), a legal one (:func:`warpwright.solver.modulo.verify.verify`).
        stated: The answer.
    """
    arithmetic = lower_bounds(problem)
    bound, by_search = _bound(stated, arithmetic[0], schedule.interval)
    true = _computed(problem, schedule, stated, bound, arithmetic)
    judged: dict[str, Follows | Claimed] = {
        field.name: Follows(getattr(true, field.name), "problem and schedule give") for field in fields(true)
    }
    judged |= {
        "engine": _one_of(stated.engine, (*engine_names(), CONSTRUCTIVE)),
        "engine_version": Claimed("" if stated.engine_version else "an engine has a version"),
        "polished_by": _one_of(stated.polished_by, (*engine_names(), "")),
        "attempts": Claimed(_impossible_search(stated)),
        "seconds": Claimed("" if stated.seconds >= 0 else "it cannot be negative"),
        "length_proven": Claimed(),
    }
    if by_search:
        judged["bound"] = Claimed()
        judged["proven_by"] = _one_of(stated.proven_by, engine_names() if true.proven else ("",))
    if not true.proven:
        judged["reason"] = Claimed()
    proofs = [_proof(stated, bound, by_search, schedule.interval)]
    if stated.length_proven:
        by = stated.polished_by or stated.proven_by or stated.engine
        length = schedule.length(problem)
        proofs.append(proof_claimed(by, "length", length, f"{AMONG} at this interval", place="length"))
    return CertificateCheck(check_fields(stated, judged), tuple(proofs))


def _bound(stated: StatedAnswer, arithmetic: Bound, interval: int) -> tuple[Bound, bool]:
    """The bound that the answer may state, and whether it is an engine's claim."""
    claimed = stated.bound
    forms = {SEARCHED: claimed.cycles, excluded(arithmetic).reason: excluded(arithmetic).cycles}
    possible = arithmetic.cycles < claimed.cycles <= interval and forms.get(claimed.reason) == claimed.cycles
    return (claimed, True) if possible else (arithmetic, False)


def _computed(
    problem: ModuloProblem, schedule: ModuloSchedule, stated: StatedAnswer, bound: Bound, bounds: tuple[Bound, ...]
) -> StatedAnswer:
    """The answer document that is true of this schedule, as far as it follows."""
    proven = schedule.interval == bound.cycles
    answer = ModuloAnswer(
        status="proven_optimal" if proven else "feasible",
        schedule=schedule,
        bound=bound,
        bounds=bounds,
        length_proven=stated.length_proven,
        conflicts=(),
        attempts=(),
        engine=stated.engine,
        engine_version=stated.engine_version,
        proven_by=ARITHMETIC if proven else "",
    )
    return parse_answer(json.dumps(answer_document(problem, answer, seconds=stated.seconds)))


def _proof(stated: StatedAnswer, bound: Bound, by_search: bool, interval: int) -> ProofCheck:
    if bound.cycles < interval:
        return proof_missing("interval", interval, bound.cycles, bound.reason)
    if by_search:
        return proof_claimed(stated.proven_by, "interval", interval, AMONG)
    return proof_by_bound("interval", interval, bound.reason)


def _one_of(name: str, known: tuple[str, ...]) -> Claimed:
    return Claimed("" if name in known else f"it is one of {', '.join(known)}" if any(known) else "nothing is proven")


def _impossible_search(stated: StatedAnswer) -> str:
    known = (*engine_names(), CONSTRUCTIVE)
    for each in stated.attempts:
        if each.engine not in known or not 1 <= each.low <= each.high or each.work < 0:
            return f"no search is {each.engine} from {each.low} to {each.high} with work {each.work}"
    return ""
