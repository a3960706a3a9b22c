"""Offset windows: without ``enable_offset`` all tasks of a pipe lie inside one window of the interval.

``max(start) - min(start) < II`` over the tasks of each pipe bit (TileLang 0.1.15 wheel, ``z3_scheduler.py:499-513``);
a nested loop carries the bits of all its tasks.
"""

from itertools import permutations

from warpwright.solver.ascend.encoding import Arc, Network
from warpwright.solver.ascend.problem import PIPE_BITS, LoopProblem, Problem
from warpwright.solver.ascend.schedule_reader import CallReading
from warpwright.solver.domain.fact import Fact
from warpwright.solver.domain.verdict import Violation

__all__ = ["NAME", "build", "check", "explain"]

NAME = "offset_window"


def _pipes(problem: Problem) -> dict[str, list[int]]:
    """Tasks of each pipe that is bound to one window; empty for straight lists and with offset."""
    if not isinstance(problem, LoopProblem) or problem.enable_offset:
        return {}
    pipes = {
        name: [t for t in range(problem.tasks) if problem.resource_flags[t] & bit] for name, bit in PIPE_BITS.items()
    }
    return {name: tasks for name, tasks in pipes.items() if len(tasks) > 1}


def build(network: Network) -> None:
    """``start_a - start_b < II`` for every ordered pair of a pipe: an arc of lag 1 and distance 1, once per pair."""
    problem = network.problem
    pairs = {pair for tasks in _pipes(problem).values() for pair in permutations(tasks, 2)}
    network.arcs += [Arc(a, b, 1, 1, NAME) for a, b in sorted(pairs)]


def check(reading: CallReading) -> tuple[Violation, ...]:
    """The span of every pipe."""
    problem, answer = reading.problem, reading.answer
    found = []
    for name, tasks in _pipes(problem).items():
        starts = [answer.starts[t] for t in tasks]
        span = max(starts) - min(starts)
        if span >= (answer.interval or 0):
            message = f"starts on {name} span {span} cycles; without offset they must stay below {answer.interval}"
            found.append(Violation(NAME, "one-window", message, name))
    return tuple(found)


def explain(problem: Problem, reading: CallReading | None) -> tuple[Fact, ...]:
    """Pipes bound to one window, with how far their tasks lie apart in an answer."""
    facts = []
    for name, tasks in _pipes(problem).items():
        span, limit = 0, None
        if reading is not None:
            starts = [reading.answer.starts[t] for t in tasks]
            span, limit = max(starts) - min(starts), (reading.answer.interval or 1) - 1
        note = "without offset its tasks stay inside one interval"
        facts.append(Fact(f"window of {name}", span, limit, "cycles", note=note))
    return tuple(facts)
