"""Verdict on a whole Ascend kernel from its graph alone, in the terms of the GPU solver.

The graph carries the scheduler calls as closed problems. Pins act on them as TileLang's own annotations would: a fixed count
becomes the distance of its dependences, an opted-out storage keeps distance 1. Numbers of an outer scope that depend on an
inner one's schedule follow it (:mod:`warpwright.solver.ascend.pinned_calls`); lowering asks for them again.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace

from warpwright.solver.ascend import kernel_capacity, kernel_events
from warpwright.solver.ascend.certify import all_proven, certificate_of
from warpwright.solver.ascend.conflicts import conflicts
from warpwright.solver.ascend.optimise import NodeLimits
from warpwright.solver.ascend.pinned_calls import LoopEnd, loop_end, with_fixed_versions, with_nested_loops
from warpwright.solver.ascend.pins import checked_pins, merged_pins
from warpwright.solver.ascend.problem import LoopProblem, Problem, problem_from_call
from warpwright.solver.ascend.profile_limits import within_profile
from warpwright.solver.ascend.sharing import within_kernel
from warpwright.solver.ascend.solve import CallResult, solve_problem
from warpwright.solver.ascend.verify import verify_buffers
from warpwright.solver.ascend.versions import buffer_versions
from warpwright.solver.domain import (
    BufferSchedule,
    Conflict,
    Feasible,
    HardwareProfile,
    Infeasible,
    KernelGraph,
    LoopSchedule,
    Memory,
    Pins,
    ProvenOptimal,
    SchedulerCall,
    TaskTime,
    Unknown,
    Verdict,
)

__all__ = ["solve_graph"]


@dataclass(frozen=True, slots=True)
class _Pinned:
    graph: KernelGraph
    pins: Pins
    calls: tuple[tuple[SchedulerCall, Problem], ...]


def solve_graph(
    graph: KernelGraph,
    profile: HardwareProfile,
    pins: Pins | None = None,
    *,
    engine: str = "exact",
    limits: NodeLimits | None = None,
) -> Verdict:
    """The verdict on a kernel: every scope's optimum, inside the memories of the whole kernel.

    Raises:
        PinError: a pin of a wrong form, or that names no buffer.
    """
    work, name = limits or NodeLimits(), "exact" if engine in ("cpsat", "enumerate") else engine
    pinned = _pinned(graph, pins or Pins())
    counts = {p.buffer: p.versions for p in pinned.pins.buffers if p.versions is not None}
    first = _scopes(pinned, profile, name, work, counts, share=False)
    if isinstance(first, Infeasible | Unknown):
        return first
    verdict = _verdict(pinned, profile, name, work, first)
    if not isinstance(verdict, Infeasible):
        return verdict
    second = _scopes(pinned, profile, name, work, counts, share=True)
    if isinstance(second, Infeasible | Unknown):
        return second
    return _verdict(pinned, profile, name, work, second)


def _pinned(graph: KernelGraph, pins: Pins) -> _Pinned:
    shapes = {b.name: b.shape for b in graph.buffers if b.memory is not Memory.GLOBAL}
    merged = checked_pins(merged_pins(graph.pins, pins), shapes)
    fixed = {
        p.buffer: p.versions or 1 for p in merged.buffers if p.versions is not None or p.manual_versions is not None
    }
    calls = []
    for call in graph.calls:
        problem = problem_from_call(json.loads(call.arguments))
        if isinstance(problem, LoopProblem):
            call, problem = with_fixed_versions(call, problem, fixed)
        calls.append((call, problem))
    return _Pinned(replace(graph, pins=merged), merged, tuple(calls))


Solved = list[tuple[SchedulerCall, Problem, CallResult]]


def _scopes(
    pinned: _Pinned, profile: HardwareProfile, engine: str, limits: NodeLimits, fixed: Mapping[str, int], *, share: bool
) -> Solved | Infeasible | Unknown:
    counts = dict(fixed)
    solved: Solved = []
    loops: dict[str, LoopEnd] = {}
    for call, original in pinned.calls:
        problem = with_nested_loops(pinned.graph, call, original, loops)
        if isinstance(problem, LoopProblem):
            problem = within_profile(problem, profile, pinned.pins.unlimited_memories)
            if share:
                problem = within_kernel(pinned.graph, profile, call, problem, counts, pinned.pins.unlimited_memories)
        result = solve_problem(problem, engine=engine, budget=limits)
        if result.answer is None:
            if not result.proven:
                return Unknown(f"the work limit ended in scope {call.scope}", engine, result.work)
            return Infeasible(_kernel_conflicts(pinned, profile, fixed) or conflicts(problem, call.buffers), engine)
        for name, count in zip(call.buffers, result.answer.versions, strict=True):
            counts[name] = max(count, counts.get(name, 1))
        if (end := loop_end(problem, result.answer)) is not None:
            loops[call.scope] = end
        solved.append((call, problem, result))
    return solved


def _kernel_conflicts(pinned: _Pinned, profile: HardwareProfile, counts: Mapping[str, int]) -> tuple[Conflict, ...]:
    """Memories that overflow already with the fewest versions of every free buffer."""
    return kernel_capacity.overflows(pinned.graph, profile, counts, pinned.pins.unlimited_memories)


def _verdict(pinned: _Pinned, profile: HardwareProfile, engine: str, limits: NodeLimits, solved: Solved) -> Verdict:
    chosen: dict[str, int] = {}
    for call, _, result in solved:
        assert result.answer is not None
        for name, count in zip(call.buffers, result.answer.versions, strict=True):
            chosen[name] = max(count, chosen.get(name, 1))
    entries = buffer_versions(pinned.graph, chosen)
    counts = {entry.buffer: entry.versions for entry in entries}
    over = _kernel_conflicts(pinned, profile, counts)
    if over:
        return Infeasible(over, engine)
    loops = tuple(_loop(call, problem, result) for call, problem, result in solved)
    schedule = BufferSchedule(entries, loops, pinned.pins.unlimited_memories)
    if events := kernel_events.conflicts(pinned.graph, schedule):
        if kernel_events.conflicts(pinned.graph, kernel_events.with_fewest(schedule)):
            return Infeasible(events, engine)
        return Unknown(events[0].message, engine, sum(result.work for _, _, result in solved))
    verified = not verify_buffers(pinned.graph, profile, schedule) and bool(pinned.calls)
    certificate = certificate_of(pinned.graph, profile, schedule, solved, engine, limits.interval, verified=verified)
    if all_proven(certificate):
        return ProvenOptimal(schedule, certificate)
    return Feasible(schedule, certificate)


def _loop(call: SchedulerCall, problem: Problem, result: CallResult) -> LoopSchedule:
    answer = result.answer
    assert answer is not None
    times = tuple(TaskTime(name, answer.starts[i], answer.stage(i)) for i, name in enumerate(call.items))
    return LoopSchedule(call.scope, answer.interval, answer.length(problem), times)
