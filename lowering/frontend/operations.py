"""From a statement to an operation: kind, costs, accesses. Runs in child processes only: it reads TVM objects."""

from dataclasses import dataclass
from typing import Any

from tilelang import tvm

from warpwright.lowering.frontend.accesses import Touch, scalars_in, touches_of, touches_of_expression
from warpwright.lowering.frontend.arithmetic import work_of
from warpwright.lowering.frontend.copies import classify_copy
from warpwright.lowering.frontend.operators import COPIES, GEMMS
from warpwright.lowering.frontend.statements import Leaf
from warpwright.lowering.frontend.storage import Storages
from warpwright.solver.device.work import Cost, CostModel, SimtWork
from warpwright.solver.domain import (
    Access,
    DocumentError,
    GemmShape,
    HardwareProfile,
    Issue,
    Memory,
    NotApplicable,
    Op,
    OpKind,
)

__all__ = ["OperationReader"]

tirx = tvm.tirx

_POLICIES = {0: "square", 1: "full_row", 2: "full_col"}
_PRIVATE = (Memory.FRAGMENT, Memory.LOCAL)
_TEXT_LIMIT = 200


@dataclass(frozen=True, slots=True)
class _Decoded:
    kind: OpKind
    cost: Cost
    issue: Issue = Issue.BLOCKING
    gemm: GemmShape | None = None
    binds: Any = None
    pending: int = 0


class OperationReader:
    """Makes the operations of one kernel; has what they share: storages, rates, names of bound scalars."""

    def __init__(self, storages: Storages, profile: HardwareProfile, scalar_name: Any) -> None:
        self._storages = storages
        self._costs = CostModel(profile)
        self._has_cp_async = profile.flag("features.cp_async")
        self._scalar_name = scalar_name

    def read(self, leaf: Leaf, scope: str, guards: list[Any]) -> tuple[Op, list[Touch]]:
        """The operation of a leaf, and everything that it touches, including the conditions of its guards."""
        touches = touches_of(leaf.stmt)
        decoded = self._decode(leaf.stmt, touches)
        guard_touches = [touch for guard in guards for touch in touches_of_expression(guard)]
        if guards:
            touches = [Touch(touch.buffer, touch.write, touch.box) for touch in touches] + guard_touches
        scalars = [var for part in (leaf.stmt, *guards) for var in scalars_in(part)]
        used = {name for var in scalars if (name := self._scalar_name(var)) is not None}
        bound = self._scalar_name(decoded.binds) if decoded.binds is not None else None
        writes = self._accesses(touches, write=True)
        memories = [self._storages.memory(touch.buffer) for touch in touches if touch.write]
        moved = [self._storages.memory(touch.buffer) for touch in touches]
        op = Op(
            id=leaf.id,
            kind=decoded.kind,
            scope=scope,
            issue=decoded.issue,
            latency_cycles=decoded.cost.latency,
            uses=decoded.cost.uses,
            reads=self._accesses(touches, write=False),
            writes=writes,
            text=_text(leaf.stmt),
            gemm=decoded.gemm,
            guarded=bool(guards),
            replicable=all(memory in _PRIVATE for memory in memories),
            through_registers=decoded.kind is OpKind.COPY and any(memory not in _PRIVATE for memory in moved),
            elements=max((touch.elements() for touch in touches if touch.write), default=0),
            binds=bound,
            pending=decoded.pending,
            uses_scalars=tuple(sorted(used - {bound})),
        )
        return op, touches

    def _accesses(self, touches: list[Touch], *, write: bool) -> tuple[Access, ...]:
        """One access per storage: the largest box, whole if one of them certainly is."""
        merged: dict[str, Access] = {}
        for touch in touches:
            if touch.write is not write:
                continue
            name = self._storages.name(touch.buffer)
            dtype = tvm.DataType(touch.buffer.dtype)
            size = -(-touch.elements() * dtype.bits * dtype.lanes // 8)
            whole = touch.covers if write else _is_whole(touch)
            known = merged.get(name, Access(name, 0, False))
            merged[name] = Access(name, max(size, known.bytes), whole or known.whole)
        return tuple(merged[name] for name in sorted(merged))

    def _decode(self, stmt: Any, touches: list[Touch]) -> _Decoded:
        if isinstance(stmt, tirx.Bind):
            return _Decoded(OpKind.BIND, self._costs.simt(work_of(stmt)), binds=stmt.var)
        if isinstance(stmt, tirx.Evaluate) and isinstance(stmt.value, tirx.Call):
            return self._call(stmt.value, touches)
        if isinstance(stmt, (tirx.For, tirx.BufferStore)):
            return _Decoded(OpKind.PARALLEL, self._costs.simt(work_of(stmt)))
        return _Decoded(OpKind.OPAQUE, self._costs.simt(work_of(stmt)))

    def _call(self, call: Any, touches: list[Touch]) -> _Decoded:
        name = str(call.op.name)
        if name in COPIES:
            return self._copy(call, touches)
        if name in GEMMS:
            return self._gemm(call, name, touches)
        if name == "tl.tileop.fill":
            return _Decoded(OpKind.FILL, self._costs.simt(self._moved(touches, touches[0].elements())))
        if name in ("tl.tileop.reduce", "tl.tileop.cumsum", "tl.tileop.cummax"):
            return _Decoded(OpKind.REDUCE, self._costs.simt(self._moved(touches, touches[0].elements())))
        if name == "tl.wait_wgmma":
            return _Decoded(OpKind.WAIT, Cost(1, ()), pending=_pending(call))
        return _Decoded(OpKind.OPAQUE, self._costs.simt(work_of(tirx.Evaluate(call))))

    def _copy(self, call: Any, touches: list[Touch]) -> _Decoded:
        source, target = touches[0], touches[1]
        has_tma = self._costs.has_tma
        kind = classify_copy(call, source, target, has_tma=has_tma, has_cp_async=self._has_cp_async)
        size = self._bytes(target)
        if kind is OpKind.TMA_LOAD:
            return _Decoded(kind, self._costs.tma_load(size), Issue.ASYNCHRONOUS)
        if kind is OpKind.TMA_STORE:
            return _Decoded(kind, self._costs.tma_store(self._bytes(source)))
        if kind is OpKind.ASYNC_LOAD:
            return _Decoded(kind, self._costs.async_load(size), Issue.ASYNCHRONOUS)
        converts = str(source.buffer.dtype) != str(target.buffer.dtype)
        private = all(self._storages.memory(touch.buffer) in _PRIVATE for touch in (source, target))
        return _Decoded(kind, self._costs.simt(self._moved(touches, target.elements() if converts or private else 0)))

    def _gemm(self, call: Any, name: str, touches: list[Touch]) -> _Decoded:
        arguments = list(call.args)
        m, n, k = (int(argument.value) for argument in arguments[5:8])
        operands = [touches[0].buffer, touches[1].buffer, touches[-1].buffer]
        result = next(touch.buffer for touch in touches if touch.write)
        waits = int(getattr((call.annotations or {}).get("wg_wait", 0), "value", 0)) != -1
        if self._storages.memory(result) is Memory.TENSOR or name == "tl.tileop.tcgen05_gemm":
            waits = False
        shape = GemmShape(
            m=m,
            n=n,
            k=k,
            a_dtype=str(operands[0].dtype),
            accumulator_dtype=str(result.dtype),
            a_memory=self._storages.memory(operands[0]),
            b_memory=self._storages.memory(operands[1]),
            c_memory=self._storages.memory(result),
            transpose_a=_truth(arguments[3]),
            transpose_b=_truth(arguments[4]),
            warp_policy=_POLICIES.get(int(arguments[8].value), "square"),
            waits=waits,
        )
        written = name.replace("tl.tileop.", "T.")
        if refused := self._costs.refuses(written, shape):
            raise DocumentError(
                refused, code="instruction-not-available", place=f"{written} into {self._storages.name(result)}"
            )
        issue = Issue.BLOCKING if waits else Issue.ASYNCHRONOUS
        return _Decoded(OpKind.GEMM, self._costs.gemm(shape), issue, gemm=shape)

    def _bytes(self, touch: Touch) -> int:
        return -(-touch.elements() * int(tvm.DataType(touch.buffer.dtype).bits) // 8)

    def _moved(self, touches: list[Touch], instructions: int) -> SimtWork:
        """Work of a tile operator: one instruction per element, and the bytes of its shared and global sides."""
        shared = [t for t in touches if self._storages.memory(t.buffer) in (Memory.SHARED, Memory.TENSOR)]
        device = [t for t in touches if self._storages.memory(t.buffer) is Memory.GLOBAL]
        read, written = (sum(self._bytes(t) for t in device if t.write is way) for way in (False, True))
        return SimtWork(instructions, 0, sum(map(self._bytes, shared)), read, written)


def _is_whole(touch: Touch) -> bool:
    if touch.box is None:
        return False
    analyzer = tvm.arith.Analyzer()
    pairs = zip(touch.box.mins, touch.box.extents, touch.buffer.shape, strict=True)
    return all(analyzer.can_prove_equal(low, 0) and analyzer.can_prove_equal(e, s) for low, e, s in pairs)


def _truth(value: Any) -> bool:
    if isinstance(value, tirx.IntImm):
        return int(value.value) == 1
    raise NotApplicable("a transpose flag that is not a constant", code="unsupported-region", place=str(value))


def _pending(wait: Any) -> int:
    """How many products a wait leaves in flight: the N of ``wgmma.wait_group.sync.aligned N``."""
    if isinstance(wait.args[0], tirx.IntImm):
        return int(wait.args[0].value)
    raise NotApplicable(
        "a wait for a number of products that is not a constant", code="unsupported-wait", place=str(wait)
    )


def _text(stmt: Any) -> str:
    lines = [line.strip() for line in str(stmt).strip().splitlines() if not line.startswith("#")]
    return " ".join(line for line in lines if line and not line.startswith("from tvm"))[:_TEXT_LIMIT]
