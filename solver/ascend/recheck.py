"""A second engine looks for something below each bound of an Ascend certificate.

The feasible intervals are closed upwards (docs/decisions/0050), so one cycle below the bound decides every smaller interval. The
engine has the whole model with the domains that no propagation has narrowed, and no order of interchangeable tasks.
"""

import numpy as np

from warpwright.solver.ascend.answer import SchedulerAnswer
from warpwright.solver.ascend.certificate_check import AMONG, what_is_bounded
from warpwright.solver.ascend.certify import ScopeBound, account_of, scope_bounds, spelled
from warpwright.solver.ascend.families import build_network, check_answer
from warpwright.solver.ascend.modelled import model_at
from warpwright.solver.ascend.optimise import straight_network
from warpwright.solver.ascend.problem import LoopProblem, Problem
from warpwright.solver.ascend.search import Search, State
from warpwright.solver.domain import BufferSchedule, Certificate, HardwareProfile, KernelGraph
from warpwright.solver.domain.certificate_check import (
    ProofCheck,
    proof_rechecked,
    proof_refuted,
    proof_undecided,
    proof_unusable,
)
from warpwright.solver.engines import Budget, EngineStatus
from warpwright.solver.engines import engine as engine_named

__all__ = ["recheck", "recheck_scope"]


def recheck(
    graph: KernelGraph,
    profile: HardwareProfile,
    schedule: BufferSchedule,
    certificate: Certificate,
    *,
    engine: str,
    budget: Budget,
) -> tuple[ProofCheck, ...]:
    """One finding for each scope.

    Args:
        graph: The kernel.
        profile: The device.
        schedule: A legal schedule.
        certificate: One of it, of which nothing was refused.
        engine: The second engine, another one than the certificate's.
        budget: Budget of each search.
    """
    searched = account_of(certificate, graph.calls).searched
    return tuple(
        recheck_scope(each, engine=engine, budget=budget) for each in scope_bounds(graph, profile, schedule, searched)
    )


def recheck_scope(scope: ScopeBound, *, engine: str, budget: Budget) -> ProofCheck:
    """Looks for a schedule of one scope below its bound."""
    what, place, bound = what_is_bounded(scope), spelled(scope.call), scope.bound.cycles
    if bound <= 1:
        return proof_rechecked(engine, what, bound, AMONG, place=place)
    loop = isinstance(scope.problem, LoopProblem)
    search, state = _whole(scope.problem, bound - 1)
    built = model_at(search, state, objective=False, most_length=None if loop else bound - 1)
    result = engine_named(engine).solve(built.model, budget)
    if result.status is EngineStatus.INFEASIBLE:
        return proof_rechecked(engine, what, bound, AMONG, place=place)
    if result.values is None:
        return proof_undecided(engine, what, bound, result.reason, place=place)
    starts = [result.values[var.index] for var in built.starts]
    least = min(starts) if search.origin is None else 0
    versions = tuple(result.values[var.index] for var in built.versions)
    answer = SchedulerAnswer(
        state.interval if loop else None, tuple(s - least for s in starts), versions if loop else ()
    )
    if broken := check_answer(scope.problem, answer):
        return proof_unusable(engine, what, bound, broken[0], place=place)
    shorter = answer.interval if answer.interval is not None else answer.length(scope.problem)
    return proof_refuted(engine, what, bound, shorter, place=place)


def _whole(problem: Problem, cycles: int) -> tuple[Search, State]:
    """What is searched at an interval (of a straight-line list: at one at which nothing wraps), without any deduction."""
    if isinstance(problem, LoopProblem):
        network, interval = build_network(problem), cycles
    else:
        network, interval = straight_network(problem)
        network.arcs = [arc for arc in network.arcs if arc.family != "symmetry"]
    search = Search(network, interval)
    paths = np.full((search.nodes, search.nodes), -(search.reach + 1) * interval, dtype=np.int64)
    np.fill_diagonal(paths, 0)
    if search.origin is not None:
        paths[search.origin, :] = np.maximum(paths[search.origin, :], 0)
    stages = [network.fixed_stages.get(task) for task in search.phase_tasks]
    state = State(
        interval,
        [],
        paths,
        [1] * len(network.max_versions),
        list(network.max_versions),
        [0 if stage is None else stage for stage in stages],
        [search.reach if stage is None else stage for stage in stages],
    )
    return search, state
