"""Stage order: a reader of a copied scalar may not be in a later stage than the writer of the value that the scalar read.

``start_u // II <= start_w // II`` for each pair (TileLang 0.1.15 wheel, ``z3_scheduler.py:489-497``); pairs exist with
``enable_offset`` only.
"""

from warpwright.solver.ascend.encoding import Network, StageOrder
from warpwright.solver.ascend.problem import LoopProblem, Problem
from warpwright.solver.ascend.schedule_reader import CallReading
from warpwright.solver.domain.fact import Fact
from warpwright.solver.domain.verdict import Violation

__all__ = ["NAME", "build", "check", "explain"]

NAME = "stage_order"


def build(network: Network) -> None:
    """One order per pair."""
    problem = network.problem
    if isinstance(problem, LoopProblem):
        network.stage_orders += [StageOrder(u, w) for u, w in sorted(set(problem.stage_order_deps)) if u != w]


def check(reading: CallReading) -> tuple[Violation, ...]:
    """Every pair, on stages."""
    problem, answer = reading.problem, reading.answer
    if not isinstance(problem, LoopProblem):
        return ()
    return tuple(
        Violation(
            NAME, "not-later", f"task {u} is in stage {answer.stage(u)}, after {w} in {answer.stage(w)}", f"{u},{w}"
        )
        for u, w in problem.stage_order_deps
        if answer.stage(u) > answer.stage(w)
    )


def explain(problem: Problem, reading: CallReading | None) -> tuple[Fact, ...]:
    """The pairs: the stage of the reader against that of the writer."""
    facts = []
    for u, w in problem.stage_order_deps if isinstance(problem, LoopProblem) else ():
        stage, limit = (0, None) if reading is None else (reading.answer.stage(u), reading.answer.stage(w))
        facts.append(Fact(f"stage of task {u}", stage, limit, "stages", note=f"not later than that of task {w}"))
    return tuple(facts)
