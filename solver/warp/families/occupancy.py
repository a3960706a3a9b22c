"""The number of blocks that the kernel requests fits one SM: shared memory with each block's reserve, warps, block slots.

Registers follow from the launch bound (``min_blocks``); the family ``register_pool`` checks them. Source: the
profile's ``sm.*`` and ``shared.*``; rule book 1.11 (228 KiB per SM, 1 KiB reserved per block).
"""

from warpwright.solver.device.limits import WARP_THREADS, WARPGROUP
from warpwright.solver.device.occupancy import Footprint, blocks_by_resource
from warpwright.solver.device.shared_memory import block_bytes, static_bytes
from warpwright.solver.device.tensor_memory import allocated_columns, tensor_buffers
from warpwright.solver.domain.fact import Fact
from warpwright.solver.domain.verdict import Violation
from warpwright.solver.engines.model import linear
from warpwright.solver.warp.encoding import WarpEncoding
from warpwright.solver.warp.families.shared_memory import on_chip
from warpwright.solver.warp.problem import WarpProblem
from warpwright.solver.warp.registers import entry_of
from warpwright.solver.warp.schedule_reader import Reading

NAME = "occupancy"


def build(enc: WarpEncoding) -> None:
    """Shared memory, warps and slots of ``min_blocks`` blocks."""
    model, device, blocks = enc.model, enc.problem.device, max(enc.problem.graph.min_blocks_per_sm, 1)
    model.at_most(linear(constant=blocks), device.sm_blocks, note=f"{blocks} blocks per SM")
    for groups, literal in enc.groups.items():
        if groups * WARPGROUP * blocks > device.sm_warps:
            model.any_of([literal.negated()], note=f"{blocks} blocks of {groups} warpgroups on one SM")
    if blocks > 1:
        # A block's barriers need at most this much; the shared-memory family counts the exact granules.
        static = static_bytes(max(values) for values in enc.depth_is)
        most = device.shared_bytes_per_sm // blocks - device.shared_bytes_reserved - static
        model.at_most(on_chip(enc), most, note=f"shared memory of {blocks} blocks on one SM")


def check(reading: Reading) -> tuple[Violation, ...]:
    """The same sums on a finished schedule."""
    found: list[Violation] = []
    device, blocks = reading.problem.device, max(reading.problem.graph.min_blocks_per_sm, 1)
    if blocks > device.sm_blocks:
        message = f"{blocks} blocks per SM requested, {device.sm_blocks} possible"
        found.append(Violation(NAME, "block-slots", message))
    warps = reading.schedule.num_warps * blocks
    if warps > device.sm_warps:
        found.append(Violation(NAME, "sm-warps", f"{blocks} blocks need {warps} warps, an SM has {device.sm_warps}"))
    used = blocks * (block_bytes(reading.problem.graph, reading.schedule) + device.shared_bytes_reserved)
    if blocks > 1 and used > device.shared_bytes_per_sm:
        message = f"{blocks} blocks need {used:,} bytes of shared memory, an SM has {device.shared_bytes_per_sm:,}"
        found.append(Violation(NAME, "sm-shared-memory", message))
    return tuple(found)


def explain(problem: WarpProblem, reading: Reading | None) -> tuple[Fact, ...]:
    """Blocks that fit an SM by each resource."""
    if reading is None:
        blocks = max(problem.graph.min_blocks_per_sm, 1)
        return (Fact("blocks per SM", blocks, problem.device.sm_blocks, "blocks"),)
    versions = {buffer.name: reading.versions(buffer.name) for buffer in tensor_buffers(problem.graph)}
    held = Footprint(
        WARP_THREADS * reading.schedule.num_warps,
        entry_of(reading),
        block_bytes(problem.graph, reading.schedule),
        allocated_columns(problem.graph, problem.device, versions),
    )
    by_resource = blocks_by_resource(problem.device, held)
    note = ", ".join(f"{resource} holds {blocks}" for resource, blocks in by_resource.items())
    asked = max(problem.graph.min_blocks_per_sm, 1)
    return (Fact("blocks per SM", asked, min(by_resource.values()), "blocks", note=note),)
