"""Tensor memory: columns of 32-bit cells over the lanes, allocated in powers of two (docs of the family ``tensor_memory``)."""

from warpwright.solver.device.limits import DeviceLimits
from warpwright.solver.domain.kernel import Buffer, KernelGraph, Memory

__all__ = ["columns", "tensor_buffers"]

CELL_BYTES = 4


def tensor_buffers(graph: KernelGraph) -> tuple[Buffer, ...]:
    """Buffers in tensor memory."""
    return tuple(buffer for buffer in graph.buffers if buffer.memory is Memory.TENSOR)


def columns(limits: DeviceLimits, buffer: Buffer, count: int) -> int:
    """Columns that ``count`` versions allocate.

    Source: TileLang 0.1.15 wheel, ``src/cuda/transform/lower_shared_tmem.cc:131-145, 334-337, 509-515``.
    """
    lanes = max(limits.tensor_lanes, 1)
    rows = min(buffer.shape[0], lanes) if buffer.shape else lanes
    needed = count * -(-buffer.bytes // (CELL_BYTES * rows))
    return max(limits.tensor_minimum_columns, 1 << (needed - 1).bit_length())
