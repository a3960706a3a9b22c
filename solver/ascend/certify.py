"""Certificates of Ascend schedules: the outermost loop's interval with its bounds, and what is proven of every scope."""

from collections.abc import Sequence
from dataclasses import replace

import numpy

from warpwright.solver.ascend.kernel_capacity import MemoryUse
from warpwright.solver.ascend.optimise import NodeLimits
from warpwright.solver.ascend.problem import CONSTRAINT_SET, LoopProblem, Problem
from warpwright.solver.ascend.solve import CallResult
from warpwright.solver.domain import (
    ROOT,
    Bound,
    BufferSchedule,
    Certificate,
    Choice,
    ChosenBy,
    Covered,
    HardwareProfile,
    LeftOut,
    ProofScope,
    SchedulerCall,
    Why,
    digest_text,
    proof_sentence,
)

__all__ = ["certificate_of"]


def certificate_of(
    results: Sequence[tuple[SchedulerCall, Problem, CallResult | None]],
    uses: Sequence[MemoryUse],
    profile: HardwareProfile,
    engine: str,
    limits: NodeLimits,
    schedule: BufferSchedule,
    *,
    verified: bool,
) -> Certificate:
    """The certificate of a kernel's plan.

    The interval is the innermost loop's: scopes are asked inside out, and the innermost runs most often. The bounds list
    has one entry per scope; ``binding`` names what limits each interval.
    """
    solved = [(call, problem, result) for call, problem, result in results if result is not None]
    loops = [entry for entry in solved if isinstance(entry[1], LoopProblem)]
    first = loops[0][2] if loops else (solved[0][2] if solved else None)
    interval = first.answer.interval if first is not None and first.answer is not None else None
    bound = first.lower_bound if first is not None else Bound(0, "none")
    reached = interval if interval is not None else (first.length if first is not None else 0)
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
        problem_digest=digest_text("\n".join(call.arguments for call, _, _ in results)),
        profile_digest=profile.digest,
        verified=verified,
        binding=tuple(f"{_name(call)}: {result.lower_bound.reason}" for call, _, result in solved),
        bounds=tuple(
            Bound(result.lower_bound.cycles, f"{_name(call)}: {'proven' if result.proven else 'bound only'}")
            for call, _, result in solved
        ),
        scope=_scope(loops[0][0].scope if loops else "", schedule),
    )
    return replace(made, sentence=proof_sentence(made))


def _scope(loop: str, schedule: BufferSchedule) -> ProofScope:
    """A scope's search goes over every order of its tasks, and over every version count and mode that no pin fixes."""
    words = ", ".join(f"{entry.buffer} x{entry.versions}" for entry in schedule.buffers) or "no versions"
    pinned = any(ChosenBy.USER in (entry.versions_chosen_by, entry.mode_chosen_by) for entry in schedule.buffers)
    left = (LeftOut("other versions", Why.PINNED),) if pinned else ()
    versions = Covered(Choice.VERSIONS, words, every=not pinned, over=(words,) if pinned else (), left_out=left)
    return ProofScope(loop, "", (versions, Covered(Choice.ORDER, "tasks at their start cycles")))


def _name(call: SchedulerCall) -> str:
    return "root" if call.scope == ROOT else call.scope
