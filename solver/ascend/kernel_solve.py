"""Verdict on a whole Ascend kernel from its graph alone, in the terms of the GPU solver.

The graph carries the scheduler calls as closed problems. Pins act on them as TileLang's own annotations would: a fixed count
becomes the distance of its dependences, an opted-out storage keeps distance 1. Numbers of an outer scope that depend on an
inner one's schedule are those of the graph; lowering asks for them again.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace

from warpwright.solver.ascend import kernel_capacity
from warpwright.solver.ascend.certify import certificate_of
from warpwright.solver.ascend.conflicts import conflicts
from warpwright.solver.ascend.optimise import NodeLimits
from warpwright.solver.ascend.pins import checked_pins, merged_pins
from warpwright.solver.ascend.problem import LoopProblem, Problem, problem_from_call
from warpwright.solver.ascend.sharing import within_kernel
from warpwright.solver.ascend.solve import CallResult, solve_problem
from warpwright.solver.ascend.verify import verify_buffers
from warpwright.solver.ascend.versions import buffer_versions
from warpwright.solver.domain import (
    BufferPin,
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
    fixed = {p.buffer: p for p in merged.buffers if p.versions is not None or p.manual_versions is not None}
    calls = []
    for call in graph.calls:
        problem = problem_from_call(json.loads(call.arguments))
        if isinstance(problem, LoopProblem):
            call, problem = _fix(call, problem, fixed)
        calls.append((call, problem))
    return _Pinned(replace(graph, pins=merged), merged, tuple(calls))


def _fix(
    call: SchedulerCall, problem: LoopProblem, fixed: Mapping[str, BufferPin]
) -> tuple[SchedulerCall, LoopProblem]:
    """The call without the pinned buffers: their counts become distances, their bytes leave the limits."""
    keep = [b for b, name in enumerate(call.buffers) if name not in fixed]
    number = {old: new for new, old in enumerate(keep)}
    counts = {b: (fixed[n].versions or 1) for b, n in enumerate(call.buffers) if n in fixed}
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


Solved = list[tuple[SchedulerCall, Problem, CallResult]]


def _scopes(
    pinned: _Pinned, profile: HardwareProfile, engine: str, limits: NodeLimits, fixed: Mapping[str, int], *, share: bool
) -> Solved | Infeasible | Unknown:
    counts = dict(fixed)
    solved: Solved = []
    for call, original in pinned.calls:
        problem = original
        if isinstance(problem, LoopProblem):
            problem = _free_limits(problem, pinned.pins)
            if share:
                problem = within_kernel(pinned.graph, profile, call, problem, counts, pinned.pins.unlimited_memories)
        result = solve_problem(problem, engine=engine, budget=limits)
        if result.answer is None:
            if not result.proven:
                return Unknown(f"the work limit ended in scope {call.scope}", engine, result.work)
            return Infeasible(_kernel_conflicts(pinned, profile, fixed) or conflicts(problem, call.buffers), engine)
        for name, count in zip(call.buffers, result.answer.versions, strict=True):
            counts[name] = max(count, counts.get(name, 1))
        solved.append((call, problem, result))
    return solved


def _free_limits(problem: LoopProblem, pins: Pins) -> LoopProblem:
    groups = tuple(
        replace(g, limit_bytes=1 << 40) if g.name in pins.unlimited_memories else g for g in problem.memory_groups
    )
    return replace(problem, memory_groups=groups)


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
    named = tuple(call for call, _ in pinned.calls)
    graph = pinned.graph if not pinned.pins.buffers else replace(pinned.graph, calls=())
    verified = not verify_buffers(graph, profile, schedule) and bool(named)
    uses = kernel_capacity.uses(pinned.graph, profile, counts)
    certificate = certificate_of(solved, uses, profile, engine, limits, schedule, verified=verified)
    if all(result.proven for _, _, result in solved):
        return ProvenOptimal(schedule, certificate)
    return Feasible(schedule, certificate)


def _loop(call: SchedulerCall, problem: Problem, result: CallResult) -> LoopSchedule:
    answer = result.answer
    assert answer is not None
    times = tuple(TaskTime(name, answer.starts[i], answer.stage(i)) for i, name in enumerate(call.items))
    return LoopSchedule(call.scope, answer.interval, answer.length(problem), times)
