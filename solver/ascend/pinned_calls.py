"""A recorded scheduler call under other choices: fixed version counts, and other schedules of its nested loops.

TileLang asks again when it lowers; until then these are the numbers that it would ask with.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from warpwright.solver.ascend.answer import SchedulerAnswer
from warpwright.solver.ascend.problem import LoopProblem, Problem
from warpwright.solver.ascend.total_cycles import loop_cycles
from warpwright.solver.domain import KernelGraph, SchedulerCall

__all__ = ["LoopEnd", "loop_end", "with_fixed_versions", "with_nested_loops"]

ASSUMED_TRIPS = 100
"""TileLang's trip count of a loop whose own is not known (TileLang 0.1.15 wheel, ``ir_structure.h:132``)."""


@dataclass(frozen=True, slots=True)
class LoopEnd:
    """What an outer scope sees of a loop: its interval, and the last completion of one iteration from the loop's own zero."""

    interval: int
    end: int


def loop_end(problem: Problem, answer: SchedulerAnswer) -> LoopEnd | None:
    """The loop as its outer scope sees it; None for a straight-line list, which has no outer scope."""
    if answer.interval is None:
        return None
    ends = (start + latency for start, latency in zip(answer.starts, problem.latencies, strict=True))
    return LoopEnd(answer.interval, max(ends))


def with_fixed_versions(
    call: SchedulerCall, problem: LoopProblem, fixed: Mapping[str, int]
) -> tuple[SchedulerCall, LoopProblem]:
    """The call without the fixed buffers: their counts become distances, their bytes leave the limits.

    Args:
        call: The call with the names of its free buffers.
        problem: Its problem.
        fixed: Version counts by buffer; others are ignored.
    """
    keep = [b for b, name in enumerate(call.buffers) if name not in fixed]
    if len(keep) == len(call.buffers):
        return call, problem
    number = {old: new for new, old in enumerate(keep)}
    counts = {b: fixed[name] for b, name in enumerate(call.buffers) if name in fixed}
    deps = tuple(
        row if row[2] >= 0 else (row[0], row[1], counts.get(-row[2] - 1, 0) or -number[-row[2] - 1] - 1, row[3])
        for row in problem.data_deps
    )
    groups = tuple(
        replace(
            group,
            limit_bytes=group.limit_bytes
            - sum(counts[b] * problem.buffer_sizes[b] for b in group.buffers if b in counts),
            buffers=tuple(number[b] for b in group.buffers if b in number),
        )
        for group in problem.memory_groups
    )
    sizes = tuple(problem.buffer_sizes[b] for b in keep)
    names = tuple(call.buffers[b] for b in keep)
    return replace(call, buffers=names), replace(problem, data_deps=deps, memory_groups=groups, buffer_sizes=sizes)


def with_nested_loops(
    graph: KernelGraph, call: SchedulerCall, problem: Problem, loops: Mapping[str, LoopEnd]
) -> Problem:
    """The problem with the cycles that its nested loops really take; a lag that starts in one moves with its end.

    Args:
        graph: The kernel: trip counts.
        call: Names of the problem's tasks.
        problem: The recorded problem.
        loops: The nested loops by scope id, as far as they are decided.
    """
    trips = {scope.id: scope.trips for scope in graph.scopes}
    more = [0] * problem.tasks
    for task, item in enumerate(call.items):
        if item in loops and item in trips:
            count = trips[item]
            cycles = loop_cycles(ASSUMED_TRIPS if count is None else count, loops[item].interval, loops[item].end)
            more[task] = cycles - problem.latencies[task]
    if not any(more):
        return problem
    latencies = tuple(latency + more[task] for task, latency in enumerate(problem.latencies))
    iis = tuple(interval + more[task] for task, interval in enumerate(problem.iis))
    owners = tuple((a, b, max(0, f + more[a]), max(0, k + more[b])) for a, b, f, k in problem.owner_exclusion_deps)
    if isinstance(problem, LoopProblem):
        rows = tuple((u, v, d, max(0, lag + more[u])) for u, v, d, lag in problem.data_deps)
        return replace(problem, latencies=latencies, iis=iis, data_deps=rows, owner_exclusion_deps=owners)
    arcs = tuple((u, v, max(0, lag + more[u])) for u, v, lag in problem.data_deps)
    return replace(problem, latencies=latencies, iis=iis, data_deps=arcs, owner_exclusion_deps=owners)
