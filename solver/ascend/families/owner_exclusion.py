"""Owner exclusion: two disjoint owner loops share one physical ring, so their lifetimes may not overlap.

Only phases count, not stages: owners exchange the same slot at their issue phases (TileLang 0.1.15 wheel,
``z3_scheduler.py:475-487``). Either may go first; the wrap-around hand-off is protected too.
"""

from warpwright.solver.ascend.encoding import Exclusion, Network
from warpwright.solver.ascend.families.pipe_exclusion import overlap
from warpwright.solver.ascend.problem import Problem
from warpwright.solver.ascend.schedule_reader import CallReading
from warpwright.solver.domain.fact import Fact
from warpwright.solver.domain.verdict import Violation

__all__ = ["NAME", "build", "check", "explain"]

NAME = "owner_exclusion"


def build(network: Network) -> None:
    """One exclusion per pair, with the two lags as gaps."""
    problem = network.problem
    for i, j, forward, backward in sorted(set(problem.owner_exclusion_deps)):
        if forward + backward > 0:
            network.exclusions.append(Exclusion(i, j, forward, backward, NAME))


def check(reading: CallReading) -> tuple[Violation, ...]:
    """Every pair, on phases."""
    problem, answer = reading.problem, reading.answer
    found = []
    for i, j, forward, backward in problem.owner_exclusion_deps:
        a, b = answer.phase(i), answer.phase(j)
        if overlap(a, b, forward, backward, answer.interval):
            message = f"tasks {i} and {j} own one buffer for {forward} and {backward} cycles, but issue at {a} and {b}"
            found.append(Violation(NAME, "disjoint", message, f"{i},{j}"))
    return tuple(found)


def explain(problem: Problem, reading: CallReading | None) -> tuple[Fact, ...]:
    """The pairs and how long both hold their ring in one interval."""
    interval = reading.answer.interval if reading is not None else None
    return tuple(
        Fact(f"ring of {i} and {j}", first + then, interval, "cycles", ((f"task {i}", first), (f"task {j}", then)))
        for i, j, first, then in problem.owner_exclusion_deps
    )
