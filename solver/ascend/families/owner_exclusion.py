"""Owner exclusion: two disjoint owner loops share one physical ring, so their lifetimes may not overlap.

Only phases count, not stages: owners exchange the same slot at their issue phases (TileLang 0.1.15 wheel,
``z3_scheduler.py:475-487``). Either may go first; the wrap-around hand-off is protected too.
"""

from warpwright.solver.ascend.answer import Answer
from warpwright.solver.ascend.families.pipe_exclusion import overlap
from warpwright.solver.ascend.network import Exclusion, Network
from warpwright.solver.ascend.problem import Problem
from warpwright.solver.domain import Violation

__all__ = ["NAME", "build", "check", "explain"]

NAME = "owner_exclusion"


def build(problem: Problem, network: Network) -> None:
    """One exclusion per pair, with the two lags as gaps."""
    for i, j, forward, backward in sorted(set(problem.owner_exclusion_deps)):
        if forward + backward > 0:
            network.exclusions.append(Exclusion(i, j, forward, backward, NAME))


def check(problem: Problem, answer: Answer) -> list[Violation]:
    """Every pair, on phases."""
    found = []
    for i, j, forward, backward in problem.owner_exclusion_deps:
        a, b = answer.phase(i), answer.phase(j)
        if overlap(a, b, forward, backward, answer.interval):
            message = f"tasks {i} and {j} own one buffer for {forward} and {backward} cycles, but issue at {a} and {b}"
            found.append(Violation(NAME, "disjoint", message, f"{i},{j}"))
    return found


def explain(problem: Problem) -> list[str]:
    """The pairs and how long each holds the buffer."""
    return [
        f"tasks {i} and {j} share one ring: {forward} + {backward} cycles"
        for i, j, forward, backward in problem.owner_exclusion_deps
    ]
