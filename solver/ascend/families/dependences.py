"""Dependences with a known distance: data, scalars, special registers, recurrences of one iteration or several.

Source: TileLang 0.1.15 wheel, ``z3_scheduler.py:442-454``, ``auto_schedule.cc:895-973``.
"""

from warpwright.solver.ascend.encoding import Arc, Network
from warpwright.solver.ascend.problem import LoopProblem, Problem
from warpwright.solver.ascend.schedule_reader import CallReading
from warpwright.solver.domain.fact import Fact
from warpwright.solver.domain.verdict import Violation

__all__ = ["NAME", "build", "check", "explain"]

NAME = "dependence"


def _rows(problem: Problem) -> list[tuple[int, int, int, int]]:
    """``(source, target, distance, lag)`` of every dependence with a literal distance, the longest lag once."""
    if isinstance(problem, LoopProblem):
        raw = [row for row in problem.data_deps if row[2] >= 0]
    else:
        raw = [(u, v, 0, lag) for u, v, lag in problem.data_deps]
    longest: dict[tuple[int, int, int], int] = {}
    for u, v, distance, lag in raw:
        longest[u, v, distance] = max(longest.get((u, v, distance), 0), lag)
    return [(*key, lag) for key, lag in longest.items()]


def build(network: Network) -> None:
    """One arc per dependence."""
    problem = network.problem
    network.arcs += [Arc(u, v, lag, distance, NAME) for u, v, distance, lag in _rows(problem)]
    if not isinstance(problem, LoopProblem):
        network.arcs += [Arc(u, v, 0, 0, NAME) for u, v in problem.pipe_order_deps]


def check(reading: CallReading) -> tuple[Violation, ...]:
    """Every dependence, on the start times."""
    problem, answer = reading.problem, reading.answer
    found = []
    for u, v, distance, lag in _rows(problem):
        gap = answer.starts[v] - answer.starts[u] + (answer.interval or 0) * distance
        if gap < lag:
            message = f"task {v} starts {gap} cycles after task {u} of {distance} iterations before; it needs {lag}"
            found.append(Violation(NAME, "lag", message, f"{u}->{v}"))
    if not isinstance(problem, LoopProblem):
        for u, v in problem.pipe_order_deps:
            if answer.starts[u] > answer.starts[v]:
                message = f"task {u} starts at {answer.starts[u]}, after task {v} at {answer.starts[v]}"
                found.append(Violation(NAME, "pipe-order", message, f"{u}->{v}"))
    return tuple(found)


def explain(problem: Problem, reading: CallReading | None) -> tuple[Fact, ...]:
    """Self-recurrences by name; chains show up as recurrences in the bounds."""
    del reading
    loops = [(u, lag, d) for u, v, d, lag in _rows(problem) if u == v and d > 0]
    return tuple(Fact(f"task {u} repeats on itself", lag, None, f"cycles over {d} iteration(s)") for u, lag, d in loops)
