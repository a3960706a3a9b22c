"""Pipes and memory ports: two tasks of one resource never issue at the same time, modulo the interval.

The resource of a pair may be a pipe (MTE1, MTE2, MTE3, Cube, Vector, Fixpipe) or an HBM port that two pipes share; the
caller has resolved that (TileLang 0.1.15 wheel, ``auto_schedule.cc:347-352``), so the pairs are used as given.
"""

from warpwright.solver.ascend.encoding import Exclusion, Network
from warpwright.solver.ascend.problem import PIPE_BITS, LoopProblem, Problem
from warpwright.solver.ascend.schedule_reader import CallReading
from warpwright.solver.domain.fact import Fact
from warpwright.solver.domain.verdict import Violation

__all__ = ["NAME", "build", "check", "explain", "overlap"]

NAME = "pipe_exclusion"


def _pairs(problem: Problem) -> list[tuple[int, int]]:
    """Pairs with first < second, once each: those that TileLang's scheduler reads (``z3_scheduler.py:459-460``)."""
    return sorted({(i, j) for i, j in problem.resource_deps if i < j})


def build(network: Network) -> None:
    """One exclusion per pair, with the issue intervals as gaps."""
    problem = network.problem
    for i, j in _pairs(problem):
        if problem.iis[i] + problem.iis[j] > 0:
            network.exclusions.append(Exclusion(i, j, problem.iis[i], problem.iis[j], NAME))


def overlap(phase_i: int, phase_j: int, forward: int, backward: int, interval: int | None) -> bool:
    """Whether neither order of two phases keeps both gaps (the wrap-around one only in a loop)."""
    wrap = interval
    for early, late, gap, back in ((phase_i, phase_j, forward, backward), (phase_j, phase_i, backward, forward)):
        if late - early >= gap and (wrap is None or early - late + wrap >= back):
            return False
    return True


def check(reading: CallReading) -> tuple[Violation, ...]:
    """Every pair, on phases."""
    problem, answer = reading.problem, reading.answer
    found = []
    for i, j in _pairs(problem):
        a, b = answer.phase(i), answer.phase(j)
        if overlap(a, b, problem.iis[i], problem.iis[j], answer.interval):
            message = (
                f"tasks {i} and {j} share a resource for {problem.iis[i]} and {problem.iis[j]} cycles, "
                f"but issue at {a} and {b}" + (f" modulo {answer.interval}" if answer.interval else "")
            )
            found.append(Violation(NAME, "disjoint", message, f"{i},{j}"))
    return tuple(found)


def explain(problem: Problem, reading: CallReading | None) -> tuple[Fact, ...]:
    """Issue cycles of each pipe over one iteration, against the interval of an answer."""
    interval = reading.answer.interval if reading is not None else None
    facts = []
    for name, bit in PIPE_BITS.items():
        tasks = [t for t in range(problem.tasks) if problem.resource_flags[t] & bit]
        if len(tasks) > 1 and (isinstance(problem, LoopProblem) or name != "scalar"):
            used = sum(problem.iis[t] for t in tasks)
            facts.append(Fact(name, used, interval, "issue cycles", note=f"{len(tasks)} tasks"))
    return tuple(facts)
