"""A policy that divides the memory of a whole kernel among its scopes while TileLang asks for them."""

from dataclasses import dataclass, field

from warpwright.solver.ascend.answer import SchedulerAnswer
from warpwright.solver.ascend.problem import LoopProblem, Problem
from warpwright.solver.ascend.sharing import within_kernel
from warpwright.solver.ascend.solve import CallResult
from warpwright.solver.domain import HardwareProfile, KernelGraph, Pins, SchedulerCall
from warpwright.tuning.ascend.plan import Solver

__all__ = ["KernelBudget"]


@dataclass(slots=True)
class KernelBudget:
    """Solves each call within what the rest of the kernel leaves of every memory."""

    graph: KernelGraph
    profile: HardwareProfile
    pins: Pins
    solver: Solver
    counts: dict[str, int] = field(default_factory=dict)

    def answer(self, call: SchedulerCall, problem: Problem) -> tuple[SchedulerAnswer, CallResult | None]:
        """The solver's answer under tighter limits; counts are remembered for the scopes after it."""
        if isinstance(problem, LoopProblem):
            owned = {b.name for b in self.graph.buffers if b.owners}
            fixed = {p.buffer: p.versions for p in self.pins.buffers if p.versions is not None and p.buffer in owned}
            known = {**fixed, **self.counts}
            problem = within_kernel(self.graph, self.profile, call, problem, known, self.pins.unlimited_memories)
        answer, result = self.solver.answer(call, problem)
        for name, count in zip(call.buffers, answer.versions, strict=False):
            self.counts[name] = max(count, self.counts.get(name, 1))
        return answer, result
