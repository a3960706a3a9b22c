"""Buffer versions: a reuse distance is the version count of its buffer, 1 to the loop's ``num_stages``.

A producer that runs k iterations ahead of its consumer needs k + 1 copies: the count is a hard lower bound of the
schedule, never fitted down to the memory (bug case 95 of the field: a schedule that deadlocks for want of copies).
Source: TileLang 0.1.15 wheel, ``z3_scheduler.py:432-454, 564-575``.
"""

from warpwright.solver.ascend.answer import recomputed_versions
from warpwright.solver.ascend.encoding import Network, VersionArc
from warpwright.solver.ascend.problem import LoopProblem, Problem
from warpwright.solver.ascend.schedule_reader import CallReading
from warpwright.solver.domain.fact import Fact
from warpwright.solver.domain.verdict import Violation

__all__ = ["NAME", "build", "check", "explain"]

NAME = "buffer_versions"


def build(network: Network) -> None:
    """Version-dependent arcs, the domain of each count, and the bytes of each version."""
    problem = network.problem
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


def check(reading: CallReading) -> tuple[Violation, ...]:
    """Counts inside their domain and not smaller than the start times require."""
    problem, answer = reading.problem, reading.answer
    if not isinstance(problem, LoopProblem):
        return ()
    if len(answer.versions) != problem.buffers:
        message = f"{len(answer.versions)} version counts for {problem.buffers} buffers"
        return (Violation(NAME, "one-count-a-buffer", message),)
    found = []
    needed = recomputed_versions(problem, answer.interval or 1, answer.starts)
    for buffer, (count, need) in enumerate(zip(answer.versions, needed, strict=True)):
        if not 1 <= count <= problem.num_stages:
            message = f"buffer {buffer} has {count} versions; the loop allows 1 to {problem.num_stages}"
            found.append(Violation(NAME, "domain", message, f"buffer {buffer}"))
        if count < need:
            message = f"buffer {buffer} has {count} versions; its producer runs so far ahead that it needs {need}"
            found.append(Violation(NAME, "live-copies", message, f"buffer {buffer}"))
    return tuple(found)


def explain(problem: Problem, reading: CallReading | None) -> tuple[Fact, ...]:
    """How many versions may be used, and are."""
    if not isinstance(problem, LoopProblem):
        return ()
    versions = reading.answer.versions if reading is not None else (1,) * problem.buffers
    return tuple(
        Fact(f"versions of buffer {b}", versions[b], problem.num_stages, "versions", note=f"{size:,} bytes each")
        for b, size in enumerate(problem.buffer_sizes)
    )
