"""Memory limits of a scheduler call under a profile and the user's lifted limits.

TileLang assumes the same capacities for every device; a profile with fewer bytes takes the difference off each limit. More
bytes do not help, because TileLang's own limit stays.
"""

from collections.abc import Collection
from dataclasses import replace

from warpwright.solver.ascend import kernel_capacity
from warpwright.solver.ascend.problem import NO_LIMIT, LoopProblem, MemoryGroup
from warpwright.solver.ascend.sharing import GROUP_MEMORY
from warpwright.solver.domain import HardwareProfile, Memory

__all__ = ["TILELANG_BYTES", "within_profile"]

TILELANG_BYTES: dict[Memory, int] = {
    Memory.UB: 253_952,
    Memory.L1: 524_288,
    Memory.L0A: 65_536,
    Memory.L0B: 65_536,
    Memory.L0C: 262_144,
}
"""Capacities that TileLang's scheduler assumes, for every device (TileLang 0.1.15 wheel, ``auto_schedule.cc:83-140``)."""


def within_profile(problem: LoopProblem, profile: HardwareProfile, unlimited: Collection[str] = ()) -> LoopProblem:
    """The problem with this device's limits; those that the user lifted are TileLang's lifted one."""

    def limited(group: MemoryGroup) -> MemoryGroup:
        memory = GROUP_MEMORY.get(group.name)
        if group.name in unlimited or group.limit_bytes >= NO_LIMIT // 2:
            return replace(group, limit_bytes=NO_LIMIT)
        if memory is None:
            return group
        less = max(0, TILELANG_BYTES[memory] - kernel_capacity.limit_of(profile, memory, simt=False))
        return replace(group, limit_bytes=group.limit_bytes - less) if less else group

    return replace(problem, memory_groups=tuple(limited(group) for group in problem.memory_groups))
