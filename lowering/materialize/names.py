"""Python names for the variables and buffers of a kernel: the source's own if they are free, numbered otherwise.

Runs in child processes only: it reads TVM objects.
"""

import keyword
import re
from typing import Any

from tilelang import tvm

from warpwright.lowering.frontend.storage import Storages
from warpwright.lowering.frontend.walk import WalkedKernel

__all__ = ["Names"]

tirx = tvm.tirx


class Names:
    """One name for each variable and buffer object. ``views`` are buffers over another's storage, each with its base."""

    def __init__(self, kernel: WalkedKernel) -> None:
        self._known: list[tuple[Any, str]] = []
        self._taken = {"T"}
        self._storages = Storages(kernel)
        self.symbolic: list[Any] = []
        self.views: list[tuple[Any, Any]] = []
        function = kernel.function
        for parameter in function.params:
            if parameter in function.buffer_map:
                buffer = function.buffer_map[parameter]
                for extent in (*buffer.shape, *buffer.strides):
                    self._symbolic(extent)
                self._add(buffer)
            else:
                self._add(parameter)
        for thing in (*kernel.block_vars, *kernel.block.alloc_buffers):
            self._add(thing)
        tirx.stmt_functor.pre_order_visit(kernel.block.body, self._visit)

    def of(self, thing: Any) -> str:
        """The name of a variable or buffer; new ones are named when first used."""
        for known, name in self._known:
            if known.same_as(thing):
                return name
        return self._add(thing)

    def of_storage(self, storage: str) -> str:
        """The Python name of a storage that the schedule calls by its domain name."""
        return self.of(self._storages.tvm_buffers()[storage])

    def of_data(self, data: Any) -> str:
        """The name of the storage behind a data variable, as annotations refer to it."""
        return self.of_storage(self._storages.name_of_data(data))

    def _visit(self, node: Any) -> bool:
        if isinstance(node, (tirx.BufferLoad, tirx.BufferStore)) and not self._is_known(node.buffer):
            base = self._storages.tvm_buffers()[self._storages.name(node.buffer)]
            self._add(node.buffer)
            self.views.append((node.buffer, base))
        return True

    def _is_known(self, thing: Any) -> bool:
        return any(known.same_as(thing) for known, _ in self._known)

    def _symbolic(self, extent: Any) -> None:
        def visit(node: Any) -> None:
            if isinstance(node, tirx.Var) and not self._is_known(node):
                self._add(node)
                self.symbolic.append(node)

        tirx.stmt_functor.post_order_visit(extent, visit)

    def _add(self, thing: Any) -> str:
        base = re.sub(r"\W", "_", str(thing.name)) or "buffer"
        if keyword.iskeyword(base) or base[0].isdigit():
            base = f"v_{base}"
        name, count = base, 1
        while name in self._taken:
            count += 1
            name = f"{base}_{count}"
        self._taken.add(name)
        self._known.append((thing, name))
        return name
