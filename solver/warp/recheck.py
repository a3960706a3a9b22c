"""A second engine on a warp certificate's bound: is there a schedule below it, among those that the bound speaks of?

The model leaves out everything that arithmetic knows about the intervals, so an arithmetic bound is proven again, too.
"""

from warpwright.solver.domain.certificate_check import (
    ProofCheck,
    proof_rechecked,
    proof_refuted,
    proof_undecided,
    proof_unusable,
)
from warpwright.solver.domain.schedule import WarpSchedule
from warpwright.solver.engines import Budget, EngineStatus
from warpwright.solver.engines import engine as engine_named
from warpwright.solver.warp.certificate_check import AMONG
from warpwright.solver.warp.decode import decode
from warpwright.solver.warp.every_schedule import bound_of_every_schedule
from warpwright.solver.warp.layout.role_placement import leaves_the_store_open
from warpwright.solver.warp.placements import as_placed, with_store_role
from warpwright.solver.warp.problem import WarpProblem
from warpwright.solver.warp.schedule_reader import Reading
from warpwright.solver.warp.solve import build_rules
from warpwright.solver.warp.timing import loop_times, loops_by_weight
from warpwright.solver.warp.verify import violations

__all__ = ["problems_of_the_bound", "recheck"]


def recheck(problem: WarpProblem, schedule: WarpSchedule, bound: int, *, engine: str, budget: Budget) -> ProofCheck:
    """Looks for a schedule with an interval below a bound.

    Args:
        problem: The certificate's problem (:func:`warpwright.solver.warp.certificate_check.certified_problem`).
        schedule: The certificate's schedule; it has a loop.
        bound: Cycles below which no interval is said to be possible.
        engine: The second engine, another one than the certificate's.
        budget: Budget of each search.
    """
    for each in problems_of_the_bound(problem, schedule, bound):
        found = _below(each, bound, engine, budget)
        if found is not None:
            return found
    return proof_rechecked(engine, "interval", bound, AMONG)


def problems_of_the_bound(problem: WarpProblem, schedule: WarpSchedule, bound: int) -> tuple[WarpProblem, ...]:
    """The problems whose schedules a bound speaks of, together: every width of the schedule's placement. If it speaks of every
    schedule, the rule's placements, too.
    """
    placed = as_placed(Reading(problem, schedule))
    found = [problem if placed is None else placed]
    every = bound_of_every_schedule(problem)
    if every is not None and every.cycles >= bound:
        found.append(problem)
        found += [with_store_role(problem)] if leaves_the_store_open(problem) else []
    return tuple({each.digest: each for each in found}.values())


def _below(problem: WarpProblem, bound: int, engine: str, budget: Budget) -> ProofCheck | None:
    """The finding about one problem; None if it has nothing below the bound."""
    enc = build_rules(problem, bounded=False)
    loop = loops_by_weight(problem)[0]
    with enc.model.family("below the bound"):
        enc.model.at_most(enc.interval[loop], bound - 1)
    result = engine_named(engine).solve(enc.model, budget)
    if result.status is EngineStatus.INFEASIBLE:
        return None
    if result.values is None:
        return proof_undecided(engine, "interval", bound, result.reason)
    found = decode(enc, result.values)
    if broken := violations(problem, found):
        return proof_unusable(engine, "interval", bound, broken[0])
    shorter = loop_times(Reading(problem, found))[0].interval
    if shorter >= bound:
        return proof_undecided(engine, "interval", bound, f"its answer has {shorter:,} cycles")
    return proof_refuted(engine, "interval", bound, shorter)
