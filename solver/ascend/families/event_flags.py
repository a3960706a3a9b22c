"""Event flags: a soft limit of ids between two pipes of a core; every version of a buffer uses one in each direction.

More than the profile's ``events.per_pipe_pair`` (8 on the 950) can still be lowered, but the excess uses slower mutexes
(TileLang 0.1.15 wheel, ``insert_sync.cc:2012-2022``). So this family never refuses: it gives notes. Fewer versions are preferred
anyway, because bytes are the second objective.
"""

from warpwright.solver.ascend.answer import SchedulerAnswer
from warpwright.solver.ascend.problem import PIPE_BITS, LoopProblem, Problem

__all__ = ["FLAGS_PER_PAIR", "NAME", "needed", "notes"]

NAME = "event_flags"
FLAGS_PER_PAIR = 8


def needed(problem: Problem, answer: SchedulerAnswer) -> dict[tuple[str, str], int]:
    """Flag ids between each ordered pair of pipes: the version counts of the buffers that are handed over between them."""
    if not isinstance(problem, LoopProblem):
        return {}
    handed: dict[tuple[str, str], set[int]] = {}
    for source, target, distance, _ in problem.data_deps:
        if distance < 0:
            a, b = _pipe(problem, source), _pipe(problem, target)
            if a and b and a != b:
                handed.setdefault((a, b), set()).add(-distance - 1)
                handed.setdefault((b, a), set()).add(-distance - 1)
    return {pair: sum(answer.versions[b] for b in buffers) for pair, buffers in sorted(handed.items())}


def notes(problem: Problem, answer: SchedulerAnswer, budget: int = FLAGS_PER_PAIR) -> list[str]:
    """A sentence for each pair of pipes above the budget."""
    return [
        f"{a} to {b}: {count} event flags for {budget} ids; the rest uses mutexes, which are slower"
        for (a, b), count in needed(problem, answer).items()
        if count > budget
    ]


def _pipe(problem: LoopProblem, task: int) -> str | None:
    """The pipe of a task with exactly one; a nested loop has its own flags."""
    names = [name for name, bit in PIPE_BITS.items() if problem.resource_flags[task] & bit]
    return names[0] if len(names) == 1 else None
