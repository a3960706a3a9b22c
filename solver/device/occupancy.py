"""How many blocks of a kernel an SM holds: shared memory, registers, warps, and the hardware's own limit."""

from dataclasses import dataclass

from warpwright.solver.device.limits import WARP_THREADS, DeviceLimits

__all__ = ["Footprint", "allocated_registers", "blocks_by_resource", "blocks_per_sm"]


@dataclass(frozen=True, slots=True)
class Footprint:
    """The resources of an SM that one block uses. Registers are those of a thread at launch, shared memory without
    the driver's reserve.
    """

    threads: int
    registers_per_thread: int
    shared_bytes: int
    tensor_columns: int = 0


def allocated_registers(threads: int, registers_per_thread: int, unit_per_warp: int) -> int:
    """Registers that the hardware allocates to a block: whole units for each of its warps."""
    warps = max(-(-threads // WARP_THREADS), 1)
    return -(-registers_per_thread * WARP_THREADS // unit_per_warp) * unit_per_warp * warps


def blocks_by_resource(limits: DeviceLimits, footprint: Footprint) -> dict[str, int]:
    """Blocks that an SM holds at once by each resource alone."""
    warps = max(-(-footprint.threads // WARP_THREADS), 1)
    unit = limits.register_unit_per_warp
    registers_a_block = allocated_registers(footprint.threads, footprint.registers_per_thread, unit)
    by_resource = {
        "shared memory": limits.shared_bytes_per_sm // max(footprint.shared_bytes + limits.shared_bytes_reserved, 1),
        "registers": limits.sm_registers // registers_a_block if registers_a_block else limits.sm_blocks,
        "warps": limits.sm_warps // warps,
        "block slots": limits.sm_blocks,
    }
    if footprint.tensor_columns:
        # A block whose allocation does not fit waits in it until another one has ended.
        by_resource["tensor memory"] = limits.tensor_columns // footprint.tensor_columns
    return by_resource


def blocks_per_sm(limits: DeviceLimits, footprint: Footprint) -> int:
    """Blocks that an SM holds at once; 0 if not even one fits."""
    if footprint.shared_bytes > limits.shared_bytes_per_block:
        return 0
    return max(0, min(blocks_by_resource(limits, footprint).values()))
