"""A second engine on a modulo answer's bound: is there a schedule with a shorter interval?

The model leaves out what arithmetic knows, so an arithmetic bound is proven again, too.
"""

from warpwright.solver.domain.certificate_check import (
    ProofCheck,
    proof_rechecked,
    proof_refuted,
    proof_undecided,
    proof_unusable,
)
from warpwright.solver.engines import Budget, EngineStatus, engine
from warpwright.solver.modulo.certificate_check import AMONG
from warpwright.solver.modulo.encoding import ModuloEncoding
from warpwright.solver.modulo.polish import length_of
from warpwright.solver.modulo.problem import ModuloProblem, ModuloSchedule
from warpwright.solver.modulo.run import encode
from warpwright.solver.modulo.size import LARGEST_MODEL, joint_size
from warpwright.solver.modulo.verify import verify

__all__ = ["recheck", "recheck_length"]

INTERVAL, LENGTH = "interval", "length"
TOO_LARGE = f"the joint model would have more than {LARGEST_MODEL:,} constraints"


def recheck(problem: ModuloProblem, bound: int, *, engine_name: str, budget: Budget) -> ProofCheck:
    """Looks for a schedule with an interval below a bound."""
    if bound <= 1:
        return proof_rechecked("arithmetic", INTERVAL, bound, AMONG)
    if _too_large(problem):
        return proof_undecided(engine_name, INTERVAL, bound, TOO_LARGE)
    encoding = encode(problem, 1, bound - 1)
    found = _answer(encoding, INTERVAL, bound, engine_name, budget)
    if isinstance(found, ProofCheck):
        return found
    if found is None:
        return proof_rechecked(engine_name, INTERVAL, bound, AMONG)
    return proof_refuted(engine_name, INTERVAL, bound, found.interval)


def recheck_length(problem: ModuloProblem, schedule: ModuloSchedule, *, engine_name: str, budget: Budget) -> ProofCheck:
    """Looks for a schedule of the same interval whose iteration is shorter."""
    length = schedule.length(problem)
    if _too_large(problem):
        return proof_undecided(engine_name, LENGTH, length, TOO_LARGE, place=LENGTH)
    encoding = encode(problem, schedule.interval, schedule.interval)
    with encoding.model.family("below the length"):
        encoding.model.at_most(length_of(encoding), length - 1)
    found = _answer(encoding, LENGTH, length, engine_name, budget)
    if isinstance(found, ProofCheck):
        return found
    if found is None:
        return proof_rechecked(engine_name, LENGTH, length, f"{AMONG} at this interval", place=LENGTH)
    return proof_refuted(engine_name, LENGTH, length, found.length(problem), place=LENGTH)


def _answer(
    encoding: ModuloEncoding, what: str, bound: int, engine_name: str, budget: Budget
) -> ModuloSchedule | ProofCheck | None:
    """A verified schedule, none (proven), or why that is not decided."""
    result = engine(engine_name).solve(encoding.model, budget)
    if result.status is EngineStatus.INFEASIBLE:
        return None
    if result.values is None:
        return proof_undecided(engine_name, what, bound, result.reason)
    found = encoding.schedule(result.values)
    if broken := verify(encoding.problem, found):
        return proof_unusable(engine_name, what, bound, broken[0])
    return found


def _too_large(problem: ModuloProblem) -> bool:
    return joint_size(problem) > LARGEST_MODEL
