"""The buffers of a kernel as the solver knows them: one per storage, with a unique name. Runs in child processes only."""

from math import prod
from typing import Any

from tilelang import tvm

from warpwright.solver.device.shared_memory import ARRAY_ALIGNMENT, MATRIX_ALIGNMENT
from warpwright.solver.domain import Buffer, DocumentError, Memory, NotApplicable

__all__ = ["Storages"]

tirx = tvm.tirx

_MEMORIES = {
    "global": Memory.GLOBAL,
    "shared": Memory.SHARED,
    "shared.dyn": Memory.SHARED,
    "shared.tmem": Memory.TENSOR,
    "local.fragment": Memory.FRAGMENT,
    "local": Memory.LOCAL,
    "local.var": Memory.LOCAL,
}
REGISTER_BITS = 32
QUAD = 4
"""If no layout is known: the accumulator layout spreads a row over four threads (PTX ISA, wgmma)."""


class Storages:
    """Names and facts of every storage, in declaration order: parameters, then the block's allocations."""

    def __init__(self, kernel: Any) -> None:
        self._by_data: list[tuple[Any, str, Any]] = []
        self._taken: set[str] = set()
        self._threads = int(kernel.threads)
        function = kernel.function
        for parameter in function.params:
            if parameter in function.buffer_map:
                self._add(function.buffer_map[parameter])
        for buffer in kernel.block.alloc_buffers:
            if str(buffer.scope()) in ("shared.barrier", "shared.cluster_barrier"):
                message = f"buffer {buffer.name!r} is a barrier"
                raise NotApplicable(message, code="hand-written-barrier", place=str(buffer.name))
            self._add(buffer)
        non_restrict = kernel.block.annotations.get("tl.non_restrict_params") or ()
        self._aliasing = {self.name_of_data(data) for data in non_restrict}

    def name(self, buffer: Any) -> str:
        """The storage's name; views of one storage share it."""
        return self.name_of_data(buffer.data)

    def name_of_data(self, data: Any) -> str:
        """As :meth:`name`, by the data variable."""
        for known, name, _ in self._by_data:
            if known.same_as(data):
                return name
        raise NotApplicable("a buffer that the kernel does not declare", code="unknown-buffer", place=str(data))

    def alias(self, first: str, second: str) -> bool:
        """Records two parameters that may overlap according to the source."""
        return first in self._aliasing and second in self._aliasing

    def tvm_buffers(self) -> dict[str, Any]:
        """Name -> the TVM buffer that declares the storage."""
        return {name: buffer for _, name, buffer in self._by_data}

    def memory(self, buffer: Any) -> Memory:
        """Where a buffer is stored; NotApplicable ``unknown-memory`` for a scope that no schedule knows."""
        scope = str(buffer.scope())
        if scope not in _MEMORIES:
            raise NotApplicable(f"storage scope {scope!r}", code="unknown-memory", place=str(buffer.name))
        return _MEMORIES[scope]

    def domain(
        self, matrix_operands: set[str], touched: set[str], fragment_registers: dict[str, int]
    ) -> tuple[Buffer, ...]:
        """The graph's buffers; ``matrix_operands`` get a swizzle atom's alignment, untouched ones are left out.

        ``fragment_registers`` are inferred sizes by the buffer's own name; fragments without one are estimated.
        """
        return tuple(
            self._domain(name, buffer, name in matrix_operands, fragment_registers.get(str(buffer.data.name)))
            for _, name, buffer in self._by_data
            if name in touched
        )

    def _domain(self, name: str, buffer: Any, matrix: bool, inferred: int | None) -> Buffer:
        memory = self.memory(buffer)
        shape = tuple(int(extent.value) if isinstance(extent, tirx.IntImm) else 0 for extent in buffer.shape)
        if any(isinstance(extent, tirx.IntImm) and int(extent.value) <= 0 for extent in buffer.shape):
            message = f"the buffer {name} has the shape {list(buffer.shape)}: an extent is at least 1"
            raise DocumentError(message, code="extent-not-positive", place=name)
        bits = tvm.DataType(buffer.dtype).bits * tvm.DataType(buffer.dtype).lanes
        elements = prod(shape)
        private = memory in (Memory.FRAGMENT, Memory.LOCAL)
        alignment = 1
        if memory is Memory.SHARED:
            alignment = MATRIX_ALIGNMENT if matrix else ARRAY_ALIGNMENT
        copies = QUAD if memory is Memory.FRAGMENT and len(shape) == 1 else 1
        if memory is Memory.LOCAL:
            # Every thread has its own.
            copies = self._threads
        registers = -(-elements * bits * copies // REGISTER_BITS) if private else 0
        if memory is Memory.FRAGMENT and inferred is not None:
            registers = inferred
        scope = str(buffer.scope())
        size = -(-elements * bits // 8)
        return Buffer(name, memory, shape, str(buffer.dtype), size, private, alignment, registers, scope)

    def _add(self, buffer: Any) -> None:
        if any(known.same_as(buffer.data) for known, _, _ in self._by_data):
            return
        base = str(buffer.name) or "buffer"
        name, count = base, 1
        while name in self._taken:
            count += 1
            name = f"{base}_{count}"
        self._taken.add(name)
        self._by_data.append((buffer.data, name, buffer))
