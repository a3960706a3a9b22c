"""Why a problem has no schedule: the conflicting families."""

import time
from dataclasses import replace

from warpwright.solver.domain.verdict import Conflict
from warpwright.solver.modulo.problem import ModuloProblem
from warpwright.solver.modulo.run import SearchRun, encode

__all__ = ["conflicts_of"]


def conflicts_of(run: SearchRun, problem: ModuloProblem, low: int, high: int) -> tuple[Conflict, ...]:
    """The conflicting families, from a labelled solve over all intervals."""
    encoding = encode(problem, low, high)
    budget = replace(run.budget, wall_seconds=max(run.ends_at - time.monotonic(), 0.1))
    result = run.engine.solve(encoding.model, budget)
    message = f"no interval from {low} to {high} within {problem.max_stages} stages satisfies these families together"
    return tuple(Conflict(family, message) for family in result.core or ("dependence",))
