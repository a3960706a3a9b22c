"""How TileLang lowers a copy under a warp schedule: bulk copy, ``cp.async`` or through registers.

The rules are those of TileLang 0.1.15, src/cuda/op/copy_analysis.cc:143-269 (what the bulk copy unit can do) and 810-891
(which instruction a scheduled copy gets). Runs in child processes only: it reads TVM objects.
"""

from typing import Any

from tilelang import tvm

from warpwright.lowering.frontend.accesses import Touch
from warpwright.solver.domain import NotApplicable, OpKind

__all__ = ["classify_copy"]

tirx = tvm.tirx

STRIDE_BYTES = 16
"""A tensor map's strides are multiples of this many bytes, and so is the innermost extent of a copy."""
STRIDE_LIMIT = 1 << 40
CP_ASYNC_BYTES = (4, 8, 16)


def classify_copy(call: Any, source: Touch, target: Touch, *, has_tma: bool, has_cp_async: bool) -> OpKind:
    """``TMA_LOAD``, ``TMA_STORE``, ``ASYNC_LOAD`` or ``COPY`` (through the registers of the issuing threads).

    Raises:
        NotApplicable: ``copy-not-possible`` if the source requires an instruction that cannot do this copy.
    """
    name = str(call.op.name)
    options = call.annotations or {}
    if any(key in options for key in ("is_gather4", "is_scatter4", "cluster_mask", "dst_block", "barrier")):
        raise NotApplicable(
            "a copy with a barrier, a cluster mask or gathered rows", code="special-copy", place=str(call)[:160]
        )
    if name == "tl.tileop.transpose":
        return OpKind.COPY
    prefer = _text(options.get("prefer_instruction"))
    scopes = (_scope(source.buffer), _scope(target.buffer))
    if scopes == ("global", "shared"):
        return _load(call, name, prefer, options, source, target, has_tma=has_tma, has_cp_async=has_cp_async)
    if scopes == ("shared", "global"):
        bulk = has_tma and _same_kind(source, target) and _strides_fit(target.buffer) and _rows_fit(target)
        if prefer == "tma" or name == "tl.tileop.tma_copy":
            return _insist(bulk, OpKind.TMA_STORE, call)
        return OpKind.TMA_STORE if bulk and prefer != "sync" and not _flag(options, "disable_tma") else OpKind.COPY
    return OpKind.COPY


def _load(
    call: Any, name: str, prefer: str, options: Any, source: Touch, target: Touch, *, has_tma: bool, has_cp_async: bool
) -> OpKind:
    # TileLang classifies scheduled copies before layouts are known, so its one-dimensional bulk copy, which accepts rows of any
    # length, is not a choice; only ``T.tma_copy`` leaves the row's length to the hardware (595-612, 640-665).
    possible = has_tma and _same_kind(source, target) and _strides_fit(source.buffer)
    bulk = possible and _rows_fit(source)
    asynchronous = has_cp_async and str(source.buffer.dtype) == str(target.buffer.dtype)
    if name == "tl.tileop.tma_copy":
        return _insist(possible, OpKind.TMA_LOAD, call)
    if prefer == "tma":
        return _insist(bulk, OpKind.TMA_LOAD, call)
    if name == "tl.tileop.async_copy" or prefer == "cp_async" or _flag(options, "no_implicit_async_commit_wait"):
        return _insist(asynchronous, OpKind.ASYNC_LOAD, call)
    if prefer == "sync" or _flag(options, "disable_tma"):
        return OpKind.COPY
    return OpKind.TMA_LOAD if bulk else OpKind.COPY


def _insist(possible: bool, kind: OpKind, call: Any) -> OpKind:
    if not possible:
        message = f"the copy requires {kind.value}, which cannot do it"
        raise NotApplicable(message, code="copy-not-possible", place=str(call)[:160])
    return kind


def _scope(buffer: Any) -> str:
    scope = str(buffer.scope())
    return "shared" if scope in ("shared", "shared.dyn") else scope


def _same_kind(source: Touch, target: Touch) -> bool:
    return str(source.buffer.dtype) == str(target.buffer.dtype)


def _strides_fit(buffer: Any) -> bool:
    """Innermost stride one; the others whole multiples of 16 bytes below 2^40. As in TileLang, a symbolic stride may fit."""
    strides = [_constant(stride) for stride in buffer.strides] or _row_major(buffer)
    bits = tvm.DataType(buffer.dtype).bits
    if strides and strides[-1] not in (1, None):
        return False
    known = [stride * bits // 8 for stride in strides[:-1] if stride is not None]
    return all(stride % STRIDE_BYTES == 0 and stride < STRIDE_LIMIT for stride in known)


def _row_major(buffer: Any) -> list[int | None]:
    strides: list[int | None] = []
    stride: int | None = 1
    for extent in reversed([_constant(part) for part in buffer.shape]):
        strides.append(stride)
        stride = stride * extent if stride is not None and extent is not None else None
    return list(reversed(strides))


def _rows_fit(touch: Touch) -> bool:
    extent = _constant(touch.box.extents[-1]) if touch.box is not None else None
    return extent is None or extent * tvm.DataType(touch.buffer.dtype).bits % (STRIDE_BYTES * 8) == 0


def _flag(options: Any, key: str) -> bool:
    value = options.get(key)
    return value is not None and int(getattr(value, "value", value)) == 1


def _text(value: Any) -> str:
    return "" if value is None else str(getattr(value, "value", value))


def _constant(value: Any) -> int | None:
    return int(value.value) if isinstance(value, tirx.IntImm) else None
