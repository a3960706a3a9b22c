"""Ascend: one loop's modulo schedule as a timeline of pipes, with what each pipe waits for.

A loop is drawn from its first issue through some iterations of the steady state, and then drained. What a task waits for is not a
guess: it is the scheduler call's own dependence that holds with equality (``start_v = start_u + lag - II * distance``).
"""

import json
from collections.abc import Mapping

from warpwright.service.drawing.timeline import Timeline, TimelineLane, TimelinePhase, TimelineSpan
from warpwright.solver.ascend.problem import LoopProblem, Problem, problem_from_call
from warpwright.solver.domain import ROOT, BufferSchedule, GraphError, KernelGraph, LoopSchedule, SchedulerCall

__all__ = ["loop_timeline"]

STEADY_ITERATIONS = 3
MOST_ITERATIONS = 12
COPY_UNITS = ("mte", "hbm", "fixpipe")


def loop_timeline(graph: KernelGraph, schedule: BufferSchedule, loop: LoopSchedule) -> Timeline:
    """A loop's tasks on their pipes, iteration after iteration; a straight list once."""
    call = next((each for each in graph.calls if each.scope == loop.scope), None)
    problem = problem_from_call(json.loads(call.arguments)) if call else None
    interval = loop.initiation_interval_cycles
    iterations = _iterations(graph, loop)
    lengths = _lengths(call, problem)
    lanes: dict[tuple[str, str], list[TimelineSpan]] = {}
    for iteration in range(iterations):
        for task in loop.tasks:
            start = task.start_cycle + iteration * (interval or 0)
            label = f"{task.task} ({iteration})" if interval else task.task
            for group, unit, cycles in _uses(graph, task.task, lengths):
                kind = "copy" if unit.startswith(COPY_UNITS) else "compute"
                span = TimelineSpan(
                    start, start + max(1, cycles), label, kind, f"stage {task.stage}" if interval else ""
                )
                lanes.setdefault((group, unit), []).append(span)
    drawn = {key: sorted(spans, key=lambda span: (span.start_cycle, span.end_cycle)) for key, spans in lanes.items()}
    stalls = _stalls(drawn, _reasons(schedule, loop, call, problem))
    # Groups in order: pipes, then inner loops as a whole, then what pipes wait for.
    order = sorted(drawn, key=lambda key: key[0] != "Pipes")
    shown = tuple(TimelineLane(unit, tuple(drawn[group, unit]), group) for group, unit in order)
    return Timeline((*shown, *stalls), _phases(loop, iterations), _title(graph, loop, iterations))


def _iterations(graph: KernelGraph, loop: LoopSchedule) -> int:
    if loop.initiation_interval_cycles is None:
        return 1
    wanted = min(MOST_ITERATIONS, _stages(loop) + STEADY_ITERATIONS)
    trips = next((scope.trips for scope in graph.scopes if scope.id == loop.scope), None)
    return max(1, min(wanted, trips)) if trips else wanted


def _stages(loop: LoopSchedule) -> int:
    return max((task.stage for task in loop.tasks), default=0) + 1


def _title(graph: KernelGraph, loop: LoopSchedule, iterations: int) -> str:
    interval = loop.initiation_interval_cycles
    if interval is None:
        name = "Outside loops" if loop.scope == ROOT else f"Straight list {loop.scope}"
        return f"{name}: {loop.makespan_cycles:,} cycles"
    trips = next((scope.trips for scope in graph.scopes if scope.id == loop.scope), None)
    return f"Loop {loop.scope}: one iteration every {interval:,} cycles; {iterations} of {trips or 'all'} iterations"


def _phases(loop: LoopSchedule, iterations: int) -> tuple[TimelinePhase, ...]:
    """The steady state lasts from the last stage's first start until the first stage has no iteration left."""
    interval, stages = loop.initiation_interval_cycles, _stages(loop)
    if interval is None or iterations < stages:
        return ()
    steady, last = (stages - 1) * interval, iterations * interval
    end = (iterations - 1) * interval + max(loop.makespan_cycles, interval)
    return (
        TimelinePhase("prologue", 0, steady),
        TimelinePhase("steady state", steady, last),
        TimelinePhase("drain", last, end),
    )


def _lengths(call: SchedulerCall | None, problem: Problem | None) -> Mapping[str, int]:
    return dict(zip(call.items, problem.latencies, strict=False)) if call and problem else {}


def _uses(graph: KernelGraph, task: str, lengths: Mapping[str, int]) -> list[tuple[str, str, int]]:
    """Group, unit and cycles that a task occupies; an inner loop is one long task."""
    try:
        return [("Pipes", use.unit.value, use.cycles) for use in graph.op(task).uses]
    except GraphError:
        return [("Inner loops", task, lengths[task])] if task in lengths else []


def _reasons(
    schedule: BufferSchedule, loop: LoopSchedule, call: SchedulerCall | None, problem: Problem | None
) -> Mapping[str, str]:
    """What each task waits for, by task: the sources of the dependences that determine its start."""
    if call is None or problem is None:
        return {}
    starts = {task.task: task.start_cycle for task in loop.tasks}
    versions = {entry.buffer: entry.versions for entry in schedule.buffers}
    interval = loop.initiation_interval_cycles or 0
    found: dict[str, list[str]] = {}
    for source, target, distance, lag in _arcs(problem):
        before, after = call.items[source], call.items[target]
        if before not in starts or after not in starts or before == after:
            continue
        words = before
        if distance < 0:
            buffer = call.buffers[-distance - 1]
            distance, words = versions.get(buffer, 1), f"a free version of {buffer}"
        if starts[after] == starts[before] + lag - interval * distance:
            found.setdefault(after, []).append(words)
    return {task: " and ".join(dict.fromkeys(words)) for task, words in found.items()}


def _arcs(problem: Problem) -> list[tuple[int, int, int, int]]:
    if isinstance(problem, LoopProblem):
        return list(problem.data_deps)
    return [(source, target, 0, lag) for source, target, lag in problem.data_deps]


def _stalls(
    lanes: Mapping[tuple[str, str], list[TimelineSpan]], reasons: Mapping[str, str]
) -> tuple[TimelineLane, ...]:
    """Gaps of a pipe before a waiting task, by what it waits for."""
    found: dict[str, list[TimelineSpan]] = {}
    for (group, unit), spans in lanes.items():
        free_at = 0
        for span in spans:
            cause = reasons.get(span.label.partition(" ")[0]) if group == "Pipes" else None
            if cause and span.start_cycle > free_at:
                words = f"{unit} waits for {cause}, then does {span.label}"
                found.setdefault(cause, []).append(TimelineSpan(free_at, span.start_cycle, unit, "stall", words))
            free_at = max(free_at, span.end_cycle)
    return tuple(
        TimelineLane(cause, tuple(sorted(spans, key=lambda span: span.start_cycle)), "Stalls by cause")
        for cause, spans in found.items()
    )
