"""Memory of a whole kernel shared out over its scopes: each scope may use what the other buffers leave.

Plain Python. Inner loops are asked first, as TileLang asks them: an outer scope's own buffers count with their fewest
versions until their turn comes, an inner one's with what it got.
"""

from dataclasses import dataclass, field, replace

from service.ascend.plan import Solver
from solver.ascend import kernel_capacity
from solver.ascend.answer import Answer
from solver.ascend.problem import LoopProblem, MemoryGroup, Problem
from solver.ascend.solve import CallResult
from solver.domain import HardwareProfile, KernelGraph, Memory, Pins, SchedulerCall

__all__ = ["KernelBudget"]

_MEMORY = {"shared": Memory.UB, **{f"shared.{m.value}": m for m in (Memory.L1, Memory.L0A, Memory.L0B, Memory.L0C)}}


@dataclass(slots=True)
class KernelBudget:
    """A policy that solves each call within what the rest of the kernel leaves of every memory."""

    graph: KernelGraph
    profile: HardwareProfile
    pins: Pins
    solver: Solver
    counts: dict[str, int] = field(default_factory=dict)

    def answer(self, call: SchedulerCall, problem: Problem) -> tuple[Answer, CallResult | None]:
        """The solver's answer under tighter limits; counts are remembered for the scopes after it."""
        if isinstance(problem, LoopProblem):
            sizes = tuple(
                self._aligned(name, size) for name, size in zip(call.buffers, problem.buffer_sizes, strict=True)
            )
            groups = tuple(self._group(group, call) for group in problem.memory_groups)
            problem = replace(problem, buffer_sizes=sizes, memory_groups=groups)
        answer, result = self.solver.answer(call, problem)
        for name, count in zip(call.buffers, answer.versions, strict=False):
            self.counts[name] = max(count, self.counts.get(name, 1))
        return answer, result

    def _group(self, group: MemoryGroup, call: SchedulerCall) -> MemoryGroup:
        memory = _MEMORY.get(group.name)
        if memory is None or group.name in self.pins.unlimited_memories:
            return group
        own = {call.buffers[b] for b in group.buffers if b < len(call.buffers)}
        fixed = {pin.buffer: pin.versions for pin in self.pins.buffers if pin.versions is not None}
        together = kernel_capacity.live_together(self.graph, [b.name for b in self.graph.buffers])
        others = [
            buffer
            for buffer in self.graph.buffers
            if buffer.memory is memory
            and buffer.name not in own
            and (not own or any((buffer.name, name) in together for name in own))
        ]
        taken = sum(
            self._aligned(b.name, b.bytes) * (self.counts.get(b.name) or (fixed.get(b.name, 1) if b.owners else 1))
            for b in others
        )
        limit = kernel_capacity.limit_of(self.profile, memory, simt=self.graph.simt) - taken
        return replace(group, limit_bytes=min(group.limit_bytes, limit))

    def _aligned(self, name: str, size: int) -> int:
        unit = next((b.alignment_bytes for b in self.graph.buffers if b.name == name), 32)
        return -(-size // unit) * unit
