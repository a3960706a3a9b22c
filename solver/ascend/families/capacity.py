"""Capacity of one call: in each scope the versions of the free buffers fit into what the fixed ones leave.

The limits of a call count the buffers its own loop touches; the whole kernel is checked by
:mod:`warpwright.solver.ascend.kernel_capacity`, over all loops and every buffer.
"""

from warpwright.solver.ascend.answer import Answer
from warpwright.solver.ascend.network import Capacity, Network
from warpwright.solver.ascend.problem import LoopProblem, Problem
from warpwright.solver.domain import Violation

__all__ = ["NAME", "build", "check", "explain"]

NAME = "memory_capacity"


def build(problem: Problem, network: Network) -> None:
    """One capacity per group that has free buffers."""
    if isinstance(problem, LoopProblem):
        network.capacities += [Capacity(g.name, g.limit_bytes, g.buffers) for g in problem.memory_groups if g.buffers]


def check(problem: Problem, answer: Answer) -> list[Violation]:
    """Bytes of every group."""
    if not isinstance(problem, LoopProblem) or len(answer.versions) != problem.buffers:
        return []  # the family of versions reports a missing count
    found = []
    for group in problem.memory_groups:
        used = sum(problem.buffer_sizes[b] * answer.versions[b] for b in group.buffers)
        if group.buffers and used > group.limit_bytes:
            parts = " + ".join(f"{answer.versions[b]} x {problem.buffer_sizes[b]}" for b in group.buffers)
            message = f"{group.name}: {parts} = {used} bytes, of {group.limit_bytes} available"
            found.append(Violation(NAME, "fits", message, group.name))
    return found


def explain(problem: Problem) -> list[str]:
    """The capacity of each group and the size of one version of each buffer."""
    if not isinstance(problem, LoopProblem):
        return []
    return [
        f"{g.name}: {g.limit_bytes} bytes left, one version of each free buffer takes "
        f"{sum(problem.buffer_sizes[b] for b in g.buffers)}"
        for g in problem.memory_groups
        if g.buffers
    ]
