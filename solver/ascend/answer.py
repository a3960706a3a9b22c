"""An answer to one scheduler call: start times and version counts, as TileLang takes them back."""

from dataclasses import dataclass

from warpwright.solver.ascend.problem import LoopProblem, Problem

__all__ = ["SchedulerAnswer", "recomputed_versions"]


@dataclass(frozen=True, slots=True)
class SchedulerAnswer:
    """``interval`` is None for a straight-line list. ``starts`` are cycles from the first issue of an iteration."""

    interval: int | None
    starts: tuple[int, ...]
    versions: tuple[int, ...] = ()

    def phase(self, task: int) -> int:
        """Start modulo the interval (the start itself in a straight-line list)."""
        return self.starts[task] % self.interval if self.interval else self.starts[task]

    def stage(self, task: int) -> int:
        """Pipeline stage of a task."""
        return self.starts[task] // self.interval if self.interval else 0

    def length(self, problem: Problem) -> int:
        """Cycles from the first issue to the last completion of one iteration."""
        ends = (start + latency for start, latency in zip(self.starts, problem.latencies, strict=True))
        return max(ends) - min(self.starts)


def recomputed_versions(problem: LoopProblem, interval: int, starts: tuple[int, ...]) -> tuple[int, ...]:
    """Fewest versions that these starts allow: ``max ceil((lag + start_u - start_v) / II)``, at least 1.

    TileLang recomputes the same from whatever schedule it found (TileLang 0.1.15 wheel, ``z3_scheduler.py:564-575``).
    """
    versions = [1] * problem.buffers
    for source, target, distance, lag in problem.data_deps:
        if distance < 0:
            need = -((starts[target] - starts[source] - lag) // interval)
            versions[-distance - 1] = max(versions[-distance - 1], need)
    return tuple(versions)
