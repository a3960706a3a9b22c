"""Certificates of Ascend schedules: the interval of the main loop, what is proven of every scope, and the whole kernel."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy

from warpwright.solver.ascend.kernel_capacity import MemoryUse
from warpwright.solver.ascend.optimise import NodeLimits
from warpwright.solver.ascend.problem import CONSTRAINT_SET, Problem
from warpwright.solver.ascend.solve import CallResult
from warpwright.solver.ascend.total_cycles import total_bound, total_cycles
from warpwright.solver.domain import (
    ROOT,
    Bound,
    BufferSchedule,
    Certificate,
    Choice,
    ChosenBy,
    Covered,
    HardwareProfile,
    KernelGraph,
    LeftOut,
    LoopSchedule,
    ProofScope,
    SchedulerCall,
    Why,
    digest_text,
    proof_sentence,
)

__all__ = ["certificate_of", "headline", "problem_digest"]

Solved = tuple[SchedulerCall, Problem, CallResult]


def certificate_of(
    graph: KernelGraph,
    schedule: BufferSchedule,
    results: Sequence[tuple[SchedulerCall, Problem, CallResult | None]],
    uses: Sequence[MemoryUse],
    profile: HardwareProfile,
    engine: str,
    limits: NodeLimits,
    *,
    verified: bool,
) -> Certificate:
    """The certificate of a kernel's plan.

    The interval is that of the innermost loop in which the kernel spends most cycles. The bounds list has one entry per
    scope; ``binding`` names what limits each interval. The schedule itself proves the total.
    """
    solved = [(call, problem, result) for call, problem, result in results if result is not None]
    loops = {loop.scope: loop for loop in schedule.loops}
    wanted = headline(graph, loops)
    first = next((result for call, _, result in solved if call.scope == wanted), solved[0][2] if solved else None)
    interval = first.answer.interval if first is not None and first.answer is not None else None
    bound = first.lower_bound if first is not None else Bound(0, "none")
    reached = interval if interval is not None else (first.length if first is not None else 0)
    total = total_cycles(graph, profile, loops)
    made = Certificate(
        initiation_interval_cycles=interval,
        lower_bound=bound,
        gap_cycles=0 if first is not None and first.proven else max(0, reached - bound.cycles),
        schedule_length_cycles=first.length if first is not None else 0,
        on_chip_bytes=sum(use.needed_bytes for use in uses),
        synchronisations=0,
        engine=engine,
        engine_version=f"warpwright-exact/1 numpy {numpy.__version__}" if engine == "exact" else engine,
        seed=0,
        work=sum(result.work for _, _, result in solved),
        work_limit=limits.interval,
        constraint_set=CONSTRAINT_SET,
        problem_digest=problem_digest([call for call, _, _ in results]),
        profile_digest=profile.digest,
        verified=verified,
        binding=tuple(f"{_name(call)}: {result.lower_bound.reason}" for call, _, result in solved),
        bounds=tuple(
            Bound(result.lower_bound.cycles, f"{_name(call)}: {'proven' if result.proven else 'bound only'}")
            for call, _, result in solved
        ),
        scope=_scope(wanted or "", schedule),
        total_cycles=total,
        total_bound_cycles=_bound(graph, profile, solved) if total is not None else None,
    )
    return replace(made, sentence=proof_sentence(made))


def _scope(loop: str, schedule: BufferSchedule) -> ProofScope:
    """A scope's search goes over every order of its tasks, and over every version count and mode that no pin fixes."""
    words = ", ".join(f"{entry.buffer} x{entry.versions}" for entry in schedule.buffers) or "no versions"
    pinned = any(ChosenBy.USER in (entry.versions_chosen_by, entry.mode_chosen_by) for entry in schedule.buffers)
    left = (LeftOut("other versions", Why.PINNED),) if pinned else ()
    versions = Covered(Choice.VERSIONS, words, every=not pinned, over=(words,) if pinned else (), left_out=left)
    return ProofScope(loop, "", (versions, Covered(Choice.ORDER, "tasks at their start cycles")))


def problem_digest(calls: Sequence[SchedulerCall]) -> str:
    """Identity of the problems that a plan answers: the calls' arguments, in their order."""
    return digest_text("\n".join(call.arguments for call in calls))


def headline(graph: KernelGraph, loops: Mapping[str, LoopSchedule]) -> str | None:
    """The innermost loop in which the kernel spends most cycles, the first of them in source order; None without a loop.

    A loop whose trips are not known counts as one iteration.
    """
    scopes = {scope.id: scope for scope in graph.scopes}

    def runs(name: str | None) -> int:
        return 1 if name is None else (scopes[name].trips or 1) * runs(scopes[name].parent)

    best: tuple[int, str] | None = None
    for scope in graph.scopes:
        loop = loops.get(scope.id)
        if loop is None or loop.initiation_interval_cycles is None or any(item in scopes for item in scope.items):
            continue
        cycles = loop.initiation_interval_cycles * runs(scope.id)
        if best is None or cycles > best[0]:
            best = (cycles, scope.id)
    return best[1] if best else None


def _bound(graph: KernelGraph, profile: HardwareProfile, solved: Sequence[Solved]) -> int | None:
    problems = {call.scope: (call.items, problem) for call, problem, _ in solved}
    return total_bound(graph, profile, problems, {call.scope: result.lower_bound.cycles for call, _, result in solved})


def _name(call: SchedulerCall) -> str:
    return "root" if call.scope == ROOT else call.scope
