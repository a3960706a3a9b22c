"""Tensor memory: what a buffer needs of its columns, and what is allocated for several of them.

A cell is 32 bits in one of 128 lanes. Allocations are powers of two, at least 32 columns, 512 in total; TileLang packs several
buffers into one where that saves columns. Source: TileLang 0.1.15 wheel, ``src/cuda/transform/lower_shared_tmem.cc:131-245``
(plan), ``:320-350, 509-515`` (limits).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from warpwright.solver.device.element_types import element_bits
from warpwright.solver.device.limits import DeviceLimits
from warpwright.solver.device.tcgen05 import needs_half_lanes
from warpwright.solver.domain.kernel import Buffer, KernelGraph, Memory

__all__ = ["allocated", "allocated_columns", "columns", "tensor_buffers"]

CELL_BITS = 32
WIDE, NARROW_ALIGNMENT = 32, 4
"""Buffers of so many columns start at a multiple of them, narrower ones (scale factors) at a multiple of four."""


def tensor_buffers(graph: KernelGraph) -> tuple[Buffer, ...]:
    """Buffers in tensor memory."""
    return tuple(buffer for buffer in graph.buffers if buffer.memory is Memory.TENSOR)


def columns(graph: KernelGraph, limits: DeviceLimits, buffer: Buffer) -> int:
    """Columns that one version needs. An accumulator's cell holds one value, whatever its type; an operand's is full."""
    touching = [
        op for op in graph.ops if op.gemm is not None and buffer.name in {a.buffer for a in (*op.reads, *op.writes)}
    ]
    results = any(buffer.name in {access.buffer for access in op.writes} for op in touching)
    bits = max(CELL_BITS, element_bits(buffer.dtype)) if results else element_bits(buffer.dtype)
    elements = 1
    for extent in buffer.shape:
        elements *= extent
    lanes = max(limits.tensor_lanes, 1)
    if needs_half_lanes(op.gemm for op in touching if op.gemm is not None):
        lanes = max(lanes // 2, 1)
    return -(-elements * bits // (CELL_BITS * lanes))


def allocated_columns(graph: KernelGraph, limits: DeviceLimits, versions: Mapping[str, int]) -> int:
    """Columns that a block allocates with these versions of its buffers; one of each that is not named."""
    needs = [columns(graph, limits, b) * versions.get(b.name, 1) for b in tensor_buffers(graph)]
    return allocated(limits, needs)


@dataclass(slots=True)
class _Arena:
    """One allocation: columns handed out, and columns asked for."""

    used: int = 0
    size: int = field(default=0)


def allocated(limits: DeviceLimits, needs: Sequence[int]) -> int:
    """Columns that a block allocates for buffers that need so many, in declaration order: widest first, each in the allocation
    where it costs least.
    """
    arenas: list[_Arena] = []
    for need in sorted(needs, reverse=True):
        alignment = WIDE if need >= WIDE else NARROW_ALIGNMENT
        best, cheapest, place = None, _allocation(limits, need), 0
        for arena in arenas:
            start = -(-arena.used // alignment) * alignment
            if start + need > limits.tensor_columns:
                continue
            cost = _allocation(limits, start + need) - arena.size
            if cost < cheapest:
                best, cheapest, place = arena, cost, start
        if best is None:
            best = _Arena()
            arenas.append(best)
        best.used = place + need
        best.size = _allocation(limits, best.used)
    return sum(arena.size for arena in arenas)


def _allocation(limits: DeviceLimits, needed: int) -> int:
    return max(limits.tensor_minimum_columns, 1 << max(needed - 1, 0).bit_length())
