"""Bulk copies whose addresses cannot be proven to be aligned go through registers. Runs in child processes only.

``cp.async.bulk`` takes global and shared addresses that are multiples of 16 bytes, and faults on others (PTX ISA,
"cp.async.bulk", alignment; seen on an H200 as CUDA error 716). TileLang 0.1.15 writes a contiguous copy as this
instruction whatever its offset, in its own choices and under a schedule alike, so the copy is told to leave it:
``disable_tma``, which every build honours.
Copies of tiles by a tensor map have no such rule: their offsets are coordinates.
"""

from typing import Any

from tilelang import tvm

__all__ = ["ALIGNMENT_BYTES", "with_aligned_bulk_copies"]

tirx = tvm.tirx

ALIGNMENT_BYTES = 16
COPY = "tl.tileop.copy"
DISABLE = "disable_tma"
SHARED = ("shared", "shared.dyn")


def with_aligned_bulk_copies(function: Any) -> Any:
    """The function itself when every contiguous copy is aligned, else one whose other copies go through registers."""
    analyzer = tvm.arith.Analyzer()

    def replace(node: Any) -> Any:
        call = node.value
        if not isinstance(call, tirx.Call) or str(getattr(call.op, "name", "")) != COPY:
            return None
        annotations = dict(call.annotations or {})
        if DISABLE in annotations or not _may_be_misaligned(call, analyzer):
            return None
        annotations[DISABLE] = tirx.IntImm("bool", 1)
        return tirx.Evaluate(tirx.Call(call.dtype, call.op, list(call.args), annotations))

    body = tirx.stmt_functor.ir_transform(function.body, None, replace, ["tirx.Evaluate"])
    return function if body.same_as(function.body) else function.with_body(body)


def _may_be_misaligned(call: Any, analyzer: Any) -> bool:
    sides = [_region(argument) for argument in call.args[:2]]
    if any(side is None for side in sides):
        return False
    scopes = [str(buffer.scope()) for buffer, _, _ in sides if buffer is not None]
    if "global" not in scopes or not any(scope in SHARED for scope in scopes):
        return False
    contiguous = all(_is_contiguous(buffer, extents) for buffer, _, extents in sides)
    return contiguous and not all(_is_aligned(buffer, start, analyzer) for buffer, start, _ in sides)


def _region(argument: Any) -> Any:
    """Buffer, first element and extents of a ``tl.region``; None for anything else."""
    if not isinstance(argument, tirx.Call) or str(getattr(argument.op, "name", "")) != "tl.region":
        return None
    load = argument.args[0]
    if not isinstance(load, tirx.BufferLoad) or len(load.indices) != len(load.buffer.shape):
        return None
    return load.buffer, list(load.indices), list(argument.args[2:])


def _is_contiguous(buffer: Any, extents: list[Any]) -> bool:
    """Whether the elements lie one behind the other: ones, then anything, then whole dimensions."""
    shape = list(buffer.shape)
    if len(extents) != len(shape) or not _is_row_major(buffer):
        return False
    inner = True
    for extent, size in zip(reversed(extents), reversed(shape), strict=True):
        if not inner and not _is_one(extent):
            return False
        inner = inner and tvm.ir.structural_equal(extent, size)
    return True


def _is_row_major(buffer: Any) -> bool:
    analyzer = tvm.arith.Analyzer()
    stride: Any = tirx.IntImm("int32", 1)
    for extent, actual in zip(reversed(list(buffer.shape)), reversed(list(buffer.strides)), strict=False):
        if not analyzer.can_prove_equal(actual, stride):
            return False
        stride = stride * extent
    return True


def _is_one(value: Any) -> bool:
    return isinstance(value, tirx.IntImm) and int(value.value) == 1


def _is_aligned(buffer: Any, start: list[Any], analyzer: Any) -> bool:
    """Whether the first element's address is a multiple of 16 bytes for every value of the variables in it."""
    offset: Any = tirx.IntImm("int32", 0)
    stride: Any = tirx.IntImm("int32", 1)
    for index, size in zip(reversed(start), reversed(list(buffer.shape)), strict=True):
        offset, stride = offset + index * stride, stride * size
    found = analyzer.modular_set(analyzer.simplify(offset))
    bits = tvm.DataType(buffer.dtype).bits
    return all(int(part) * bits % (8 * ALIGNMENT_BYTES) == 0 for part in (found.coeff, found.base))
