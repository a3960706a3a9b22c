"""Stage order: a reader of a copied scalar may not be in a later stage than the writer of the value that the scalar read.

``start_u // II <= start_w // II`` for each pair (TileLang 0.1.15 wheel, ``z3_scheduler.py:489-497``); pairs exist with
``enable_offset`` only.
"""

from warpwright.solver.ascend.answer import Answer
from warpwright.solver.ascend.network import Network, StageOrder
from warpwright.solver.ascend.problem import LoopProblem, Problem
from warpwright.solver.domain import Violation

__all__ = ["NAME", "build", "check", "explain"]

NAME = "stage_order"


def build(problem: Problem, network: Network) -> None:
    """One order per pair."""
    if isinstance(problem, LoopProblem):
        network.stage_orders += [StageOrder(u, w) for u, w in sorted(set(problem.stage_order_deps)) if u != w]


def check(problem: Problem, answer: Answer) -> list[Violation]:
    """Every pair, on stages."""
    if not isinstance(problem, LoopProblem):
        return []
    return [
        Violation(
            NAME, "not-later", f"task {u} is in stage {answer.stage(u)}, after {w} in {answer.stage(w)}", f"{u},{w}"
        )
        for u, w in problem.stage_order_deps
        if answer.stage(u) > answer.stage(w)
    ]


def explain(problem: Problem) -> list[str]:
    """The pairs."""
    pairs = problem.stage_order_deps if isinstance(problem, LoopProblem) else ()
    return [f"task {u} may not be in a later stage than task {w}" for u, w in pairs]
