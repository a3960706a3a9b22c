"""How much of each memory one scope of a kernel may use: the profile's limit minus what the other buffers hold.

Scopes are solved from the inside out. An undecided buffer counts with its fewest versions, a decided one with
its own; buffers proven never to be live with the scope's own are left out.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace

from warpwright.solver.ascend import kernel_capacity
from warpwright.solver.ascend.problem import LoopProblem, MemoryGroup
from warpwright.solver.domain import HardwareProfile, KernelGraph, Memory, SchedulerCall

__all__ = ["GROUP_MEMORY", "within_kernel"]

GROUP_MEMORY: dict[str, Memory] = {
    "shared": Memory.UB,
    **{f"shared.{memory.value}": memory for memory in (Memory.L1, Memory.L0A, Memory.L0B, Memory.L0C)},
}


def within_kernel(
    graph: KernelGraph,
    profile: HardwareProfile,
    call: SchedulerCall,
    problem: LoopProblem,
    counts: Mapping[str, int],
    unlimited: Collection[str] = (),
) -> LoopProblem:
    """The problem with aligned sizes and with limits that leave room for the rest of the kernel.

    Args:
        graph: The whole kernel.
        profile: The device.
        call: Names of the problem's buffers.
        problem: One scope's problem.
        counts: Versions of buffers that are decided or fixed; 1 for the others.
        unlimited: Scopes whose limit the user lifted.
    """
    alignment = {buffer.name: buffer.alignment_bytes for buffer in graph.buffers}

    def aligned(name: str, size: int) -> int:
        unit = max(alignment.get(name, 1), 1)
        return -(-size // unit) * unit

    def limited(group: MemoryGroup) -> MemoryGroup:
        memory = GROUP_MEMORY.get(group.name)
        if memory is None or group.name in unlimited:
            return group
        own = {call.buffers[b] for b in group.buffers if b < len(call.buffers)}
        others = [b for b in graph.buffers if b.memory is memory and b.name not in own]
        pairs = kernel_capacity.live_together(graph, [*own, *(b.name for b in others)])
        taken = sum(
            aligned(b.name, b.bytes) * counts.get(b.name, 1)
            for b in others
            if not own or any((b.name, name) in pairs for name in own)
        )
        limit = kernel_capacity.limit_of(profile, memory, simt=graph.simt) - taken
        return replace(group, limit_bytes=min(group.limit_bytes, limit))

    sizes = tuple(aligned(name, size) for name, size in zip(call.buffers, problem.buffer_sizes, strict=True))
    return replace(problem, buffer_sizes=sizes, memory_groups=tuple(limited(g) for g in problem.memory_groups))
