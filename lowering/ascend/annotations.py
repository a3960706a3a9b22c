"""The Ascend annotations as attributes of the kernel's block: read from the IR, written from pins or a schedule.

All forms of ``T.annotate_buffer_versions``, ``T.annotate_manual_multi_buffer`` and ``T.annotate_unlimit_memory`` end up in four
attributes of one block (TileLang 0.1.15 wheel, ``ascend/language/annotations.py``). Imports TVM: child processes only. The
rules of the forms themselves are plain Python elsewhere: the values that are written here have been checked.
"""

from collections.abc import Mapping
from typing import Any

from tilelang import tvm

from warpwright.solver.domain import BufferPin, NotApplicable, Pins

__all__ = ["buffers_of", "ir_text", "read_pins", "storage_shapes", "with_pins"]

tirx = tvm.tirx

VERSIONS = "tl.buffer_versions_map"
MODES = "tl.buffer_version_mode"
MANUAL = "tl.manual_multi_buffer"
UNLIMITED = "tl.unlimit_memory_scopes"


def buffers_of(function: Any) -> dict[str, Any]:
    """On-chip buffers of the kernel by storage name (the first buffer of each storage)."""
    found: dict[str, Any] = {}

    def visit(node: Any) -> None:
        if isinstance(node, tirx.SBlock):
            for buffer in node.alloc_buffers:
                if str(buffer.scope()).startswith("shared"):
                    found.setdefault(str(buffer.data.name), buffer)

    tirx.stmt_functor.post_order_visit(function.body, visit)
    return found


def ir_text(function: Any) -> str:
    """The function as IR JSON."""
    return str(tvm.ir.save_json(function))


def storage_shapes(function: Any) -> dict[str, tuple[int, ...]]:
    """Shapes of the on-chip buffers by storage name."""
    return {name: tuple(int(size) for size in buffer.shape) for name, buffer in buffers_of(function).items()}


def read_pins(function: Any) -> Pins:
    """The source's own annotations, as pins."""
    versions: dict[str, int] = {}
    modes: dict[str, str] = {}
    manual: dict[str, int] = {}
    unlimited: list[str] = []

    def visit(node: Any) -> None:
        if not isinstance(node, tirx.SBlock):
            return
        annotations = node.annotations
        for key, table in ((VERSIONS, versions), (MANUAL, manual)):
            for storage, count in annotations[key].items() if key in annotations else ():
                table[str(storage.name)] = int(count)
        for storage, mode in annotations[MODES].items() if MODES in annotations else ():
            modes[str(storage.name)] = str(mode)
        for scope in annotations.get(UNLIMITED, ()):
            if str(scope) not in unlimited:
                unlimited.append(str(scope))

    tirx.stmt_functor.post_order_visit(function.body, visit)
    names = list(dict.fromkeys([*versions, *modes, *manual]))
    return Pins(
        buffers=tuple(BufferPin(name, versions.get(name), modes.get(name), manual.get(name)) for name in names),
        unlimited_memories=tuple(unlimited),
    )


def with_pins(function: Any, pins: Pins) -> Any:
    """The function with exactly these checked annotations on its kernel block, instead of its own.

    Raises:
        NotApplicable: not exactly one block of the kernel allocates on-chip buffers.
    """
    buffers = buffers_of(function)
    block = _kernel_block(function)
    annotations = {str(key): value for key, value in block.annotations.items()}
    for key, value in _attributes(pins, buffers).items():
        annotations.pop(key, None)
        if value:
            annotations[key] = value
    changed = tirx.SBlock(
        block.iter_vars,
        block.reads,
        block.writes,
        block.name_hint,
        block.body,
        block.init,
        block.alloc_buffers,
        block.match_buffers,
        annotations,
    )

    def replace(node: Any) -> Any:
        return changed if _allocates_on_chip(node) else None

    body = tirx.stmt_functor.ir_transform(function.body, None, replace, ["tirx.SBlock"])
    return function.with_body(body)


def _allocates_on_chip(node: Any) -> bool:
    return isinstance(node, tirx.SBlock) and any(str(b.scope()).startswith("shared") for b in node.alloc_buffers)


def _attributes(pins: Pins, buffers: Mapping[str, Any]) -> dict[str, Any]:
    entries = [(buffers[pin.buffer].data, pin) for pin in pins.buffers]
    return {
        VERSIONS: {data: pin.versions for data, pin in entries if pin.versions is not None},
        MODES: {data: pin.mode for data, pin in entries if pin.mode is not None},
        MANUAL: {data: pin.manual_versions for data, pin in entries if pin.manual_versions is not None},
        UNLIMITED: list(pins.unlimited_memories),
    }


def _kernel_block(function: Any) -> Any:
    """The block that ``T.Kernel`` opens: the one that allocates the on-chip buffers."""
    blocks: list[Any] = []

    def visit(node: Any) -> None:
        if _allocates_on_chip(node):
            blocks.append(node)

    tirx.stmt_functor.post_order_visit(function.body, visit)
    if len(blocks) != 1:
        message = f"{len(blocks)} blocks allocate on-chip buffers, not one"
        raise NotApplicable(message, code="not-applicable-structure", place="/ir")
    return blocks[-1]
