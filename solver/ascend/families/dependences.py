"""Dependences with a known distance: data, scalars, special registers, recurrences of one iteration or several."""

from warpwright.solver.ascend.answer import Answer
from warpwright.solver.ascend.network import Arc, Network
from warpwright.solver.ascend.problem import LoopProblem, Problem
from warpwright.solver.domain import Violation

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


def build(problem: Problem, network: Network) -> None:
    """One arc per dependence."""
    network.arcs += [Arc(u, v, lag, distance, NAME) for u, v, distance, lag in _rows(problem)]
    if not isinstance(problem, LoopProblem):
        network.arcs += [Arc(u, v, 0, 0, NAME) for u, v in problem.pipe_order_deps]


def check(problem: Problem, answer: Answer) -> list[Violation]:
    """Every dependence, on the start times."""
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
    return found


def explain(problem: Problem) -> list[str]:
    """Self-recurrences by name; chains show up as recurrences in the bounds."""
    loops = [(u, lag, d) for u, v, d, lag in _rows(problem) if u == v and d > 0]
    return [f"task {u} repeats on itself: {lag} cycles over {d} iteration(s)" for u, lag, d in loops]
