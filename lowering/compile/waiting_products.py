"""The reference of a kernel with products into tensor memory: every product waits for itself. Runs in child processes only.

``T.gemm`` into tensor memory without an mbarrier is lowered only where roles wait for it (TileLang 0.1.15 wheel,
``cuda/op/gemm/gemm_tcgen05.py``: "Synchronous TCGEN5MMA requires a valid mbarrier"), so a plain kernel for a scheduler has no
build without roles, and nothing to compare outputs with. Here each product gets a barrier of its own, with the parity of its
executions so far. A barrier of the block stands in front, behind each thread's fence of what it wrote for the product to read by
descriptors, and one behind, with the fences that TileLang puts around such a barrier. A product under a condition, in a ``while``
or in a parallel loop is left alone, and TileLang refuses it as before.
"""

from typing import Any

from tvm import ir, tirx

__all__ = ["with_waiting_products"]

GEMM = "tl.tileop.gemm"
RESULT, BARRIER = 2, 10
"""Arguments of the operator: the region of C, and its mbarrier or a constant (``language/gemm_op.py``)."""
TENSOR_MEMORY, BARRIERS = "shared.tmem", "shared.barrier"
PHASE, COUNTS = "tl.pipeline_mbar_phase_expr", "barrier_init"
"""Annotations of an operator (``src/op/builtin.h``) and of a block (``language/allocate.py``)."""


def with_waiting_products(function: tirx.PrimFunc) -> tirx.PrimFunc:
    """The function itself if no product needs it."""
    writer = _Writer()
    body = writer.rewritten(function.body, [])
    return function if body.same_as(function.body) else function.with_body(body)


class _Writer:
    """Follows the loops that all threads run together."""

    def __init__(self) -> None:
        self._made: list[Any] = []

    def rewritten(self, stmt: Any, loops: list[Any]) -> Any:
        """The statement with barriers; ``loops`` are around it, outermost first."""
        if isinstance(stmt, tirx.SeqStmt):
            parts = [self.rewritten(part, loops) for part in stmt.seq]
            same = all(new.same_as(old) for new, old in zip(parts, stmt.seq, strict=True))
            return stmt if same else tirx.SeqStmt(parts)
        if isinstance(stmt, tirx.For):
            around = loops if stmt.kind == tirx.stmt.ForKind.THREAD_BINDING else [*loops, stmt]
            body = self.rewritten(stmt.body, around)
            if body.same_as(stmt.body):
                return stmt
            head = (stmt.loop_var, stmt.min, stmt.extent, stmt.kind)
            return tirx.For(*head, body, stmt.thread_binding, stmt.annotations, stmt.step)
        if isinstance(stmt, tirx.AttrStmt):
            body = self.rewritten(stmt.body, loops)
            return stmt if body.same_as(stmt.body) else tirx.AttrStmt(stmt.node, stmt.attr_key, stmt.value, body)
        if isinstance(stmt, tirx.SBlockRealize):
            block = self._block(stmt.block, loops)
            return stmt if block.same_as(stmt.block) else tirx.SBlockRealize(stmt.iter_values, stmt.predicate, block)
        return self._product(stmt, loops)

    def _block(self, block: Any, loops: list[Any]) -> Any:
        """A block holds the barriers of the products whose results it holds."""
        before = len(self._made)
        body = self.rewritten(block.body, loops)
        if body.same_as(block.body):
            return block
        made = self._made[before:]
        if not any(str(buffer.scope()) == TENSOR_MEMORY for buffer in block.alloc_buffers):
            return _with(block, body, block.alloc_buffers, block.annotations)
        del self._made[before:]
        counts = dict((block.annotations.get(COUNTS) or {}).items())
        counts |= {barrier.data: [tirx.IntImm("int32", 1)] for barrier in made}
        return _with(block, body, [*block.alloc_buffers, *made], {**dict(block.annotations.items()), COUNTS: counts})

    def _product(self, stmt: Any, loops: list[Any]) -> Any:
        call = stmt.value if isinstance(stmt, tirx.Evaluate) else None
        if not isinstance(call, tirx.Call) or str(call.op.name) != GEMM or not _needs_barrier(call):
            return stmt
        if any(loop.kind not in (tirx.stmt.ForKind.SERIAL, tirx.stmt.ForKind.UNROLLED) for loop in loops):
            return stmt
        barrier = tirx.decl_buffer((1,), "uint64", f"product_{len(self._made)}_ended", scope=BARRIERS)
        self._made.append(barrier)
        arguments = [*call.args[:BARRIER], tirx.BufferLoad(barrier, [0]), *call.args[BARRIER + 1 :]]
        annotations = {**dict((call.annotations or {}).items()), PHASE: _executions(loops) % 2}
        waiting = tirx.Call(call.dtype, call.op, arguments, annotations, call.span)
        together = tirx.call_intrin("handle", ir.Op.get("tirx.tvm_storage_sync"), tirx.StringImm("shared"))
        written = tirx.call_intrin("handle", ir.Op.get("tl.fence_proxy_async"))
        return tirx.SeqStmt([tirx.Evaluate(part) for part in (written, together, waiting, together)])


def _needs_barrier(call: Any) -> bool:
    result = call.args[RESULT]
    load = result.args[0] if isinstance(result, tirx.Call) else result
    in_tensor_memory = isinstance(load, tirx.BufferLoad) and str(load.buffer.scope()) == TENSOR_MEMORY
    return in_tensor_memory and not isinstance(call.args[BARRIER], tirx.BufferLoad)


def _executions(loops: list[Any]) -> Any:
    """How often the statement has run before this time."""
    count: Any = tirx.IntImm("int32", 0)
    for loop in loops:
        count = count * loop.extent + (loop.loop_var - loop.min)
    return count


def _with(block: Any, body: Any, buffers: Any, annotations: Any) -> Any:
    return tirx.SBlock(
        block.iter_vars,
        block.reads,
        block.writes,
        block.name_hint,
        body,
        block.init,
        buffers,
        block.match_buffers,
        annotations,
    )
