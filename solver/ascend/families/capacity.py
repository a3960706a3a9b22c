"""Capacity of one call: in each scope the versions of the free buffers fit into what the fixed ones leave.

The limits of a call count the buffers its own loop touches; the whole kernel is checked by
:mod:`warpwright.solver.ascend.kernel_capacity`, over all loops and every buffer. Source: TileLang 0.1.15 wheel,
``auto_schedule.cc:845-893``.
"""

from warpwright.solver.ascend.encoding import Capacity, Network
from warpwright.solver.ascend.problem import LoopProblem, Problem
from warpwright.solver.ascend.schedule_reader import CallReading
from warpwright.solver.domain.fact import Fact
from warpwright.solver.domain.verdict import Violation

__all__ = ["NAME", "build", "check", "explain"]

NAME = "memory_capacity"


def build(network: Network) -> None:
    """One capacity per group that has free buffers."""
    problem = network.problem
    if isinstance(problem, LoopProblem):
        network.capacities += [Capacity(g.name, g.limit_bytes, g.buffers) for g in problem.memory_groups if g.buffers]


def check(reading: CallReading) -> tuple[Violation, ...]:
    """Bytes of every group."""
    problem, answer = reading.problem, reading.answer
    if not isinstance(problem, LoopProblem) or len(answer.versions) != problem.buffers:
        return ()  # the family of versions reports a missing count
    found = []
    for group in problem.memory_groups:
        used = sum(problem.buffer_sizes[b] * answer.versions[b] for b in group.buffers)
        if group.buffers and used > group.limit_bytes:
            parts = " + ".join(f"{answer.versions[b]} x {problem.buffer_sizes[b]}" for b in group.buffers)
            message = f"{group.name}: {parts} = {used} bytes, of {group.limit_bytes} available"
            found.append(Violation(NAME, "fits", message, group.name))
    return tuple(found)


def explain(problem: Problem, reading: CallReading | None) -> tuple[Fact, ...]:
    """What each group has and what the versions take; without an answer, one version of each buffer."""
    if not isinstance(problem, LoopProblem):
        return ()
    versions = reading.answer.versions if reading is not None else (1,) * problem.buffers
    note = "" if reading is not None else "one version of each free buffer"
    return tuple(
        Fact(g.name, sum(problem.buffer_sizes[b] * versions[b] for b in g.buffers), g.limit_bytes, "bytes", note=note)
        for g in problem.memory_groups
        if g.buffers
    )
