"""Manual schedules (``T.Stage``): stages are the user's, every pipe keeps source order on phases.

TileLang 0.1.15 wheel, ``z3_scheduler.py:426-430``: ``k == stage`` for every task and ``r`` in source order per pipe. Stages
are relative: TileLang subtracts the smallest before it uses the answer.
"""

from warpwright.solver.ascend.encoding import Network, PhaseOrder
from warpwright.solver.ascend.problem import LoopProblem, Problem
from warpwright.solver.ascend.schedule_reader import CallReading
from warpwright.solver.domain.fact import Fact
from warpwright.solver.domain.verdict import Violation

__all__ = ["NAME", "build", "check", "explain"]

NAME = "manual_stages"


def build(network: Network) -> None:
    """Fixed stages, and phase orders if the call has them."""
    problem = network.problem
    if not isinstance(problem, LoopProblem):
        return
    network.phase_orders += [PhaseOrder(a, b) for a, b in sorted(set(problem.pipe_order_deps)) if a != b]
    if problem.manual_schedule:
        network.fixed_stages = dict(enumerate(problem.manual_stages))


def check(reading: CallReading) -> tuple[Violation, ...]:
    """Stages relative to the smallest, and phase orders."""
    problem, answer = reading.problem, reading.answer
    if not isinstance(problem, LoopProblem):
        return ()
    found = [
        Violation(
            NAME, "pipe-order", f"task {a} has phase {answer.phase(a)}, after task {b} at {answer.phase(b)}", f"{a},{b}"
        )
        for a, b in problem.pipe_order_deps
        if answer.phase(a) > answer.phase(b)
    ]
    if problem.manual_schedule:
        base = min(problem.manual_stages)
        least = min(answer.stage(t) for t in range(problem.tasks))
        found += [
            Violation(
                NAME, "stage", f"task {t} is in stage {answer.stage(t) - least}, not in {stage - base}", f"task {t}"
            )
            for t, stage in enumerate(problem.manual_stages)
            if answer.stage(t) - least != stage - base
        ]
    return tuple(found)


def explain(problem: Problem, reading: CallReading | None) -> tuple[Fact, ...]:
    """The stages asked for."""
    del reading
    if not isinstance(problem, LoopProblem) or not problem.manual_schedule:
        return ()
    note = f"fixed by the source: {list(problem.manual_stages)}"
    return (Fact("stages", len(set(problem.manual_stages)), None, "stages", note=note),)
