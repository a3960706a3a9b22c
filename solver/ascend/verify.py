"""The verifier of Ascend schedules: a whole BufferSchedule against a graph and a profile, without any engine."""

import json
from collections.abc import Mapping
from dataclasses import fields, replace

from warpwright.solver.ascend import kernel_capacity, kernel_events
from warpwright.solver.ascend.answer import SchedulerAnswer
from warpwright.solver.ascend.families import check_answer
from warpwright.solver.ascend.pinned_calls import LoopEnd, loop_end, with_fixed_versions, with_nested_loops
from warpwright.solver.ascend.problem import LoopProblem, Problem, StraightProblem, problem_from_call
from warpwright.solver.ascend.profile_limits import within_profile
from warpwright.solver.ascend.versions import buffer_versions
from warpwright.solver.domain import (
    BufferPin,
    BufferSchedule,
    BufferVersions,
    ChosenBy,
    HardwareProfile,
    KernelGraph,
    LoopSchedule,
    Pins,
    SchedulerCall,
    VersionMode,
    Violation,
)

__all__ = ["calls_of", "pins_of", "verify_answer", "verify_buffers"]

verify_answer = check_answer
"""Checks one answer to one scheduler call."""


def verify_buffers(graph: KernelGraph, profile: HardwareProfile, schedule: BufferSchedule) -> tuple[Violation, ...]:
    """Every broken rule of a schedule: each scope's times and counts, manual rings, and the memories of the whole kernel."""
    counts = {buffer.buffer: buffer.versions for buffer in schedule.buffers}
    loops = {loop.scope: loop for loop in schedule.loops}
    found: list[Violation] = []
    for call, problem in calls_of(graph, profile, schedule):
        if call.scope not in loops:
            found.append(Violation("shape", "scope-missing", f"no times for scope {call.scope!r}", call.scope))
        else:
            found += _check_scope(call, problem, loops[call.scope], counts)
    found += _strangers(graph, schedule)
    for buffer in graph.buffers:
        if buffer.source_scope and counts.get(buffer.name, 0) < 1:
            found.append(Violation("buffer_versions", "missing", f"no version count for {buffer.name!r}", buffer.name))
        elif buffer.source_scope and counts[buffer.name] > 1 and not buffer.owners:
            message = f"{buffer.name} has {counts[buffer.name]} versions, but no loop may keep versions of it"
            found.append(Violation("buffer_versions", "not-eligible", message, buffer.name))
    if not found:
        found += [*_entries(graph, schedule, counts), *kernel_events.check(graph, schedule)]
    found += kernel_capacity.check(graph, profile, counts, schedule.unlimited_memories)
    return tuple(found)


def _strangers(graph: KernelGraph, schedule: BufferSchedule) -> list[Violation]:
    """Scopes and buffers that the kernel does not have, or that the schedule names twice."""
    known = {call.scope for call in graph.calls}
    scopes = [loop.scope for loop in schedule.loops]
    found = [
        Violation("shape", "scope-unknown", f"times for {scope!r}, which the kernel has not, or twice", scope)
        for scope in dict.fromkeys(scopes)
        if scopes.count(scope) > 1 or (known and scope not in known)
    ]
    on_chip = {buffer.name for buffer in graph.buffers if buffer.source_scope}
    names = [each.buffer for each in schedule.buffers]
    return found + [
        Violation("buffer_versions", "unknown", f"a count for {name!r}, which the kernel has not, or twice", name)
        for name in dict.fromkeys(names)
        if names.count(name) > 1 or (on_chip and name not in on_chip)
    ]


def _entries(graph: KernelGraph, schedule: BufferSchedule, counts: Mapping[str, int]) -> list[Violation]:
    """Entries that do not follow from the kernel, the counts and what the schedule says that the user fixed."""
    pinned = replace(
        graph, pins=Pins(buffers=tuple(pin for each in schedule.buffers if (pin := _pin(each)) is not None))
    )
    expected = {each.buffer: each for each in buffer_versions(pinned, counts)}
    return [
        Violation("buffer_versions", "entry", f"{each.buffer}: {_differs(each, expected[each.buffer])}", each.buffer)
        for each in schedule.buffers
        if each.buffer in expected and each != expected[each.buffer]
    ]


def pins_of(schedule: BufferSchedule) -> Pins:
    """What the user fixed, as the schedule says."""
    pins = tuple(pin for each in schedule.buffers if (pin := _pin(each)) is not None)
    return Pins(buffers=pins, unlimited_memories=schedule.unlimited_memories)


def _pin(each: BufferVersions) -> BufferPin | None:
    """The pin behind an entry that the user fixed; None if nothing of it was."""
    if each.manual_versions is not None:
        return BufferPin(each.buffer, manual_versions=each.manual_versions)
    count = each.versions if each.versions_chosen_by is ChosenBy.USER else None
    mode = each.mode.value if each.mode_chosen_by is ChosenBy.USER else None
    if count == 1 and each.eligible and mode is None:
        mode = VersionMode.AUTO.value
    return None if count is None and mode is None else BufferPin(each.buffer, count, mode)


def _differs(each: BufferVersions, expected: BufferVersions) -> str:
    names = [
        field.name for field in fields(BufferVersions) if getattr(each, field.name) != getattr(expected, field.name)
    ]
    return ", ".join(f"{name} is {getattr(each, name)}, not {getattr(expected, name)}" for name in names)


def calls_of(
    graph: KernelGraph, profile: HardwareProfile, schedule: BufferSchedule
) -> list[tuple[SchedulerCall, Problem]]:
    """The kernel's scheduling problems as this schedule's own choices put them: counts that the user fixed are distances, and
    nested loops take the cycles that the schedule gives them.
    """
    fixed = {
        each.buffer: each.versions
        for each in schedule.buffers
        if each.versions_chosen_by is ChosenBy.USER or each.manual_versions is not None
    }
    loops = {loop.scope: loop for loop in schedule.loops}
    ends: dict[str, LoopEnd] = {}
    found: list[tuple[SchedulerCall, Problem]] = []
    for recorded in graph.calls:
        call, problem = recorded, problem_from_call(json.loads(recorded.arguments))
        if isinstance(problem, LoopProblem):
            call, problem = with_fixed_versions(call, problem, fixed)
            problem = within_profile(problem, profile, schedule.unlimited_memories)
        problem = with_nested_loops(graph, call, problem, ends)
        found.append((call, problem))
        loop = loops.get(call.scope)
        complete = loop is not None and {task.task for task in loop.tasks} >= set(call.items)
        if loop is not None and complete and (end := loop_end(problem, _answer(call, loop, {}))) is not None:
            ends[call.scope] = end
    return found


def _answer(call: SchedulerCall, loop: LoopSchedule, counts: Mapping[str, int]) -> SchedulerAnswer:
    times = {time.task: time.start_cycle for time in loop.tasks}
    starts = tuple(times[item] for item in call.items)
    return SchedulerAnswer(loop.initiation_interval_cycles, starts, tuple(counts.get(name, 1) for name in call.buffers))


def _check_scope(
    call: SchedulerCall, problem: Problem, loop: LoopSchedule, counts: Mapping[str, int]
) -> list[Violation]:
    times = {time.task for time in loop.tasks}
    missing = [item for item in call.items if item not in times]
    if missing:
        return [Violation("shape", "task-missing", f"{call.scope}: no time for {missing[0]!r}", missing[0])]
    if (loop.initiation_interval_cycles is None) != isinstance(problem, StraightProblem):
        message = f"{call.scope}: a loop has an interval, a straight-line list has none"
        return [Violation("shape", "interval", message, call.scope)]
    if loop.initiation_interval_cycles is not None and loop.initiation_interval_cycles < 1:
        message = f"{call.scope}: an interval of {loop.initiation_interval_cycles} cycles; at least 1"
        return [Violation("shape", "interval", message, call.scope)]
    answer = _answer(call, loop, counts)
    return [*_derived(call, problem, loop, answer), *check_answer(problem, answer)]


def _derived(call: SchedulerCall, problem: Problem, loop: LoopSchedule, answer: SchedulerAnswer) -> list[Violation]:
    """Length and stages, which follow from the times; a task of another scope, or one with two times."""
    found = []
    if len(loop.tasks) > len(call.items):
        message = f"{call.scope}: {len(loop.tasks)} times for {len(call.items)} tasks"
        found.append(Violation("shape", "task-unknown", message, call.scope))
    if loop.makespan_cycles != answer.length(problem):
        message = f"{call.scope}: a length of {loop.makespan_cycles} cycles; its times give {answer.length(problem)}"
        found.append(Violation("shape", "length", message, call.scope))
    stages = {item: answer.stage(task) for task, item in enumerate(call.items)}
    wrong = [time for time in loop.tasks if time.task in stages and time.stage != stages[time.task]]
    found += [
        Violation(
            "shape", "stage", f"{time.task} is said to be in stage {time.stage}, not {stages[time.task]}", time.task
        )
        for time in wrong
    ]
    return found
