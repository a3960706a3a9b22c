"""How many blocks of a kernel an SM holds: shared memory, registers, warps, and the hardware's own limit."""

from dataclasses import dataclass

from warpwright.solver.domain import KernelGraph, Memory, WarpSchedule
from warpwright.solver.forecast.machine import Machine

__all__ = ["Footprint", "blocks_per_sm", "shared_bytes"]

ALIGNMENT = 1024
"""TileLang aligns TMA and WGMMA buffers to 1 KiB (0.1.15 wheel, src/transform/merge_shared_memory_allocations.cc:402-409)."""
BARRIER_BYTES = 8


@dataclass(frozen=True, slots=True)
class Footprint:
    """What one block takes of an SM."""

    threads: int
    registers_per_thread: int
    shared_bytes: int


def shared_bytes(graph: KernelGraph, schedule: WarpSchedule) -> int:
    """Shared memory of a block under a schedule: every version of every buffer, and the barriers."""
    versions: dict[str, int] = {}
    for pipeline in schedule.pipelines:
        for name in pipeline.buffers:
            versions[name] = versions.get(name, 1) * pipeline.depth
    total = 0
    for buffer in graph.buffers:
        if buffer.memory is Memory.SHARED:
            aligned = -(-buffer.bytes // ALIGNMENT) * ALIGNMENT
            total += aligned * versions.get(buffer.name, 1)
    return total + sum(2 * BARRIER_BYTES * pipeline.depth for pipeline in schedule.pipelines)


def blocks_per_sm(machine: Machine, footprint: Footprint) -> int:
    """Blocks that an SM holds at once; 0 when not even one fits."""
    warps = -(-footprint.threads // 32)
    unit = machine.register_unit_per_warp
    registers_per_warp = -(-footprint.registers_per_thread * 32 // unit) * unit
    by_registers = (
        machine.registers_per_sm // (registers_per_warp * warps) if registers_per_warp else machine.max_blocks
    )
    by_shared = machine.shared_per_sm // (footprint.shared_bytes + machine.shared_reserved)
    if footprint.shared_bytes > machine.shared_per_block:
        return 0
    return max(0, min(machine.max_blocks, machine.max_warps // warps, by_registers, by_shared))
