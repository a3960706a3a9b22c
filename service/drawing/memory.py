"""The on-chip memory of a schedule: shared memory by buffer and version, registers by role, and what is left."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from warpwright.solver.device.limits import WARPGROUP, WARPGROUP_THREADS
from warpwright.solver.device.registers import budgets
from warpwright.solver.device.shared_memory import BARRIERS, holders, versions_of
from warpwright.solver.domain import BufferSchedule, HardwareProfile, KernelGraph, Memory, ProfileError, WarpSchedule

__all__ = ["MemoryMap", "ResourcePart", "buffer_maps", "memory_html", "register_map", "shared_map"]


@dataclass(frozen=True, slots=True)
class ResourcePart:
    """A contiguous part of a resource."""

    label: str
    amount: int
    kind: str = "used"


@dataclass(frozen=True, slots=True)
class MemoryMap:
    """One resource, its parts and its capacity (the unused part is the slack)."""

    title: str
    unit: str
    capacity: int
    blocks: tuple[ResourcePart, ...]

    @property
    def used(self) -> int:
        """The sum of all parts."""
        return sum(block.amount for block in self.blocks)

    @property
    def slack(self) -> int:
        """What is left; negative if the parts do not fit."""
        return self.capacity - self.used


def shared_map(graph: KernelGraph, profile: HardwareProfile, schedule: WarpSchedule) -> MemoryMap | None:
    """Shared memory of one block: every version of every buffer, and the barriers. None if the profile has no limit."""
    try:
        capacity = profile.integer("shared.per_block", "bytes")
    except ProfileError:
        return None
    versions, buffers = versions_of(schedule), {buffer.name: buffer for buffer in graph.buffers}
    blocks: list[ResourcePart] = []
    for who, amount in holders(graph, schedule):
        if who in buffers:
            size, count = buffers[who].bytes, versions.get(who, 1)
            blocks += [ResourcePart(_version_label(who, version, count), size, "buffer") for version in range(count)]
            blocks += [ResourcePart(f"alignment behind {who}", amount - size * count)] if amount > size * count else []
        elif amount:
            blocks.append(
                ResourcePart(who, amount, "barrier") if who == BARRIERS else ResourcePart(f"reduction of {who}", amount)
            )
    return MemoryMap("Shared memory of one block", "bytes", capacity, tuple(blocks))


def register_map(profile: HardwareProfile, schedule: WarpSchedule) -> MemoryMap | None:
    """Registers by role after setmaxnreg. None if the schedule does not set registers or the profile has no limit."""
    if not any(role.registers_per_thread for role in schedule.roles):
        return None
    try:
        capacity = profile.integer("block.max_registers", "registers")
    except ProfileError:
        return None
    blocks = tuple(
        ResourcePart(
            f"warpgroup {group}: {_roles_in(schedule, group)}, {held} per thread", WARPGROUP_THREADS * held, "role"
        )
        for group, held in enumerate(budgets(schedule.roles, schedule.num_warps))
    )
    return MemoryMap("Registers of one block", "registers", capacity, blocks)


def _roles_in(schedule: WarpSchedule, group: int) -> str:
    first = WARPGROUP * group
    inside = [role.name for role in schedule.roles if role.warps_lo < first + WARPGROUP and role.warps_hi > first]
    return ", ".join(inside) or "idle"


def memory_html(map_: MemoryMap) -> str:
    """One bar: the parts in order, their width proportional to their size, the slack at the end; hovering shows the numbers.

    HTML, not SVG, so that its text keeps its size in a narrow column.
    """
    blocks: Sequence[ResourcePart] = map_.blocks
    if map_.slack > 0:
        blocks = (*map_.blocks, ResourcePart("free", map_.slack, "free"))
    parts = []
    for block in blocks:
        kind = block.kind if block.kind in ("buffer", "barrier", "role", "free") else "used"
        hover = f"{block.label}: {block.amount:,} {map_.unit}"
        parts.append(
            f'<span class="block {kind}" style="flex-grow: {max(0, block.amount)}" title="{escape(hover)}">'
            f"{escape(block.label)}</span>"
        )
    label = f"{map_.title}: {map_.used:,} of {map_.capacity:,} {map_.unit}"
    return f'<div class="memory" role="img" aria-label="{escape(label)}">{"".join(parts)}</div>'


def buffer_maps(graph: KernelGraph, profile: HardwareProfile, schedule: BufferSchedule) -> tuple[MemoryMap, ...]:
    """Ascend's on-chip memories with every version of every buffer; those without a known capacity are left out."""
    versions = {entry.buffer: entry.versions for entry in schedule.buffers}
    maps = []
    for memory in (Memory.UB, Memory.L1, Memory.L0A, Memory.L0B, Memory.L0C):
        blocks = tuple(
            ResourcePart(_version_label(buffer.name, version, versions.get(buffer.name, 1)), buffer.bytes, "buffer")
            for buffer in graph.buffers
            if buffer.memory is memory
            for version in range(versions.get(buffer.name, 1))
        )
        path = f"{memory.value}.bytes"
        if blocks and profile.has(path):
            maps.append(MemoryMap(memory.value.upper(), "bytes", profile.integer(path, "bytes"), blocks))
    return tuple(maps)


def _version_label(buffer: str, version: int, versions: int) -> str:
    return f"{buffer} version {version}" if versions > 1 else buffer
