"""The verifier of Ascend schedules: a whole BufferSchedule against a graph and a profile, without any engine."""

import json
from collections.abc import Mapping

from warpwright.solver.ascend import kernel_capacity
from warpwright.solver.ascend.answer import SchedulerAnswer
from warpwright.solver.ascend.families import check_answer
from warpwright.solver.ascend.problem import problem_from_call
from warpwright.solver.domain import (
    BufferSchedule,
    HardwareProfile,
    KernelGraph,
    LoopSchedule,
    SchedulerCall,
    Violation,
)

__all__ = ["verify_answer", "verify_buffers"]

verify_answer = check_answer
"""Checks one answer to one scheduler call."""


def verify_buffers(graph: KernelGraph, profile: HardwareProfile, schedule: BufferSchedule) -> tuple[Violation, ...]:
    """Every broken rule of a schedule: each scope's times and counts, manual rings, and the memories of the whole kernel."""
    counts = {buffer.buffer: buffer.versions for buffer in schedule.buffers}
    loops = {loop.scope: loop for loop in schedule.loops}
    found: list[Violation] = []
    for call in graph.calls:
        if call.scope not in loops:
            found.append(Violation("shape", "scope-missing", f"no times for scope {call.scope!r}", call.scope))
        else:
            found += _check_scope(call, loops[call.scope], counts)
    for buffer in graph.buffers:
        if buffer.source_scope and counts.get(buffer.name, 0) < 1:
            found.append(Violation("buffer_versions", "missing", f"no version count for {buffer.name!r}", buffer.name))
        elif buffer.source_scope and counts[buffer.name] > 1 and not buffer.owners:
            message = f"{buffer.name} has {counts[buffer.name]} versions, but no loop may keep versions of it"
            found.append(Violation("buffer_versions", "not-eligible", message, buffer.name))
    found += kernel_capacity.check(graph, profile, counts, schedule.unlimited_memories)
    return tuple(found)


def _check_scope(call: SchedulerCall, loop: LoopSchedule, counts: Mapping[str, int]) -> list[Violation]:
    times = {time.task: time.start_cycle for time in loop.tasks}
    missing = [item for item in call.items if item not in times]
    if missing:
        return [Violation("shape", "task-missing", f"{call.scope}: no time for {missing[0]!r}", missing[0])]
    answer = SchedulerAnswer(
        loop.initiation_interval_cycles,
        tuple(times[item] for item in call.items),
        tuple(counts.get(name, 1) for name in call.buffers),
    )
    return check_answer(problem_from_call(json.loads(call.arguments)), answer)
