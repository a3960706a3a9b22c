"""Buffer versions: a reuse distance is the version count of its buffer, 1 to the loop's ``num_stages``.

A producer that runs k iterations ahead of its consumer needs k + 1 copies: the count is a hard lower bound of the
schedule, never reduced to fit the memory (bug case 95 of the field: a schedule that deadlocks because it lacks copies).
"""

from warpwright.solver.ascend.answer import Answer, recomputed_versions
from warpwright.solver.ascend.network import Network, VersionArc
from warpwright.solver.ascend.problem import LoopProblem, Problem
from warpwright.solver.domain import Violation

__all__ = ["NAME", "build", "check", "explain"]

NAME = "buffer_versions"


def build(problem: Problem, network: Network) -> None:
    """Version-dependent arcs, the domain of each count, and the bytes of each version."""
    if not isinstance(problem, LoopProblem):
        return
    network.sizes = list(problem.buffer_sizes)
    network.max_versions = [problem.num_stages] * problem.buffers
    longest: dict[tuple[int, int, int], int] = {}
    for u, v, distance, lag in problem.data_deps:
        if distance < 0:
            key = (u, v, -distance - 1)
            longest[key] = max(longest.get(key, 0), lag)
    network.version_arcs += [VersionArc(u, v, lag, buffer, NAME) for (u, v, buffer), lag in longest.items()]


def check(problem: Problem, answer: Answer) -> list[Violation]:
    """Counts inside their domain and not smaller than the start times require."""
    if not isinstance(problem, LoopProblem):
        return []
    if len(answer.versions) != problem.buffers:
        message = f"{len(answer.versions)} version counts for {problem.buffers} buffers"
        return [Violation(NAME, "one-count-a-buffer", message)]
    found = []
    needed = recomputed_versions(problem, answer.interval or 1, answer.starts)
    for buffer, (count, need) in enumerate(zip(answer.versions, needed, strict=True)):
        if not 1 <= count <= problem.num_stages:
            message = f"buffer {buffer} has {count} versions; the loop allows 1 to {problem.num_stages}"
            found.append(Violation(NAME, "domain", message, f"buffer {buffer}"))
        if count < need:
            message = f"buffer {buffer} has {count} versions; its producer runs so far ahead that it needs {need}"
            found.append(Violation(NAME, "live-copies", message, f"buffer {buffer}"))
    return found


def explain(problem: Problem) -> list[str]:
    """How many versions may be used."""
    if not isinstance(problem, LoopProblem) or not problem.buffers:
        return []
    return [f"{problem.buffers} buffers of {list(problem.buffer_sizes)} bytes with 1 to {problem.num_stages} versions"]
