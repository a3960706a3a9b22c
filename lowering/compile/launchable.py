"""Whether the driver would accept a built kernel: its shared memory and registers against the device, before any launch."""

from warpwright.lowering.compile.result import Launch
from warpwright.lowering.outcome import StepOutcome
from warpwright.solver.device.occupancy import allocated_registers
from warpwright.solver.domain import Outcome
from warpwright.solver.domain.profile import HardwareProfile

__all__ = ["over_resource"]


def over_resource(launch: Launch, registers: int, profile: HardwareProfile) -> StepOutcome | None:
    """Checks, before any launch, for what the driver would refuse: shared memory of a block, registers of all its threads."""
    shared = launch.dynamic_shared_bytes + launch.static_shared_bytes
    threads = launch.block_threads
    unit = profile.integer("registers.allocation_unit_per_warp", "registers")
    taken = allocated_registers(threads, registers, unit)
    for name, path, unit_name, needed in (
        ("shared bytes per block", "shared.per_block", "bytes", shared),
        ("threads per block", "block.max_threads", "threads", threads),
        ("registers per block", "block.max_registers", "registers", taken),
    ):
        limit = profile.integer(path, unit_name) if profile.has(path) else None
        if limit is not None and needed > limit:
            message = (
                f"{name}: {needed} needed, {limit} available ({threads} threads, {registers} registers each, "
                f"{shared} bytes)"
            )
            return StepOutcome(Outcome.OVER_RESOURCE, message, (), name, needed, limit)
    return None
