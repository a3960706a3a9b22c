"""Lets all warps end before warp 0 frees the block's tensor memory. Runs in child processes only.

TileLang 0.1.15 appends ``tcgen05.dealloc`` by warp 0 to the kernel without a barrier (wheel,
``src/cuda/transform/lower_shared_tmem.cc``, ``SharedTmemRewriter``: ``new_body`` is the body, then the frees). With roles, warp 0
may be the one that loads, done long before the others: the columns then go to another block of the same multiprocessor while
products still write and an epilogue still reads them. PTX asks that all accesses of an allocation have ended before it is freed.
Found in generated code; there was no device to provoke it. A kernel without tensor memory, or whose frees stand behind a
barrier, is returned unchanged.
"""

from dataclasses import dataclass
from typing import Any

from tvm import IRModule, ir, tirx

__all__ = ["Kept", "with_tensor_memory_kept"]

FREE = "tl.ptx_deallocate_tensor_memory"
SYNC = "tirx.tvm_storage_sync"
BEFORE, AFTER = "tl.tcgen05_before_thread_sync", "tl.tcgen05_after_thread_sync"
LEAVES = ("tirx.thread_return", "tirx.ret")


@dataclass(frozen=True, slots=True)
class Kept:
    """The module, and how many barriers were added to it; the same module object if none was."""

    module: IRModule
    added: int


def with_tensor_memory_kept(module: IRModule) -> Kept:
    """The device functions of a lowered module with a block barrier before tensor memory is freed at their end."""
    functions, added = {}, 0
    for name, function in module.functions.items():
        body = function.body
        # Threads that leave early would never come to the barrier.
        new = body if _calls(body, *LEAVES) else _ended(body)
        functions[name] = function if new.same_as(body) else function.with_body(new)
        added += not new.same_as(body)
    return Kept(IRModule(functions, attrs=module.attrs) if added else module, added)


def _ended(stmt: Any) -> Any:
    """The statement with the barrier, along the path that all threads take together."""
    if isinstance(stmt, tirx.AttrStmt):
        body = _ended(stmt.body)
        return stmt if body.same_as(stmt.body) else tirx.AttrStmt(stmt.node, stmt.attr_key, stmt.value, body)
    if not isinstance(stmt, tirx.SeqStmt):
        return stmt
    parts = list(stmt.seq)
    for place, part in enumerate(parts):
        if _frees(part):
            behind = parts[place - 1] if place else None
            if isinstance(behind, tirx.Evaluate) and _calls(behind, SYNC, AFTER):
                return stmt
            return tirx.SeqStmt([*parts[:place], *_barrier(), *parts[place:]])
        inner = _ended(part)
        if not inner.same_as(part):
            return tirx.SeqStmt([*parts[:place], inner, *parts[place + 1 :]])
    return stmt


def _frees(stmt: Any) -> bool:
    """Whether this is the statement in which one warp frees tensor memory."""
    return isinstance(stmt, tirx.IfThenElse | tirx.Evaluate) and _calls(stmt, FREE)


def _barrier() -> list[Any]:
    call = tirx.call_intrin
    sync = call("handle", ir.Op.get(SYNC), tirx.StringImm("shared"))
    return [tirx.Evaluate(part) for part in (call("handle", ir.Op.get(BEFORE)), sync, call("handle", ir.Op.get(AFTER)))]


def _calls(node: Any, *names: str) -> bool:
    found: list[Any] = []

    def visit(part: Any) -> None:
        if isinstance(part, tirx.Call) and str(getattr(part.op, "name", "")) in names:
            found.append(part)

    tirx.stmt_functor.post_order_visit(node, visit)
    return bool(found)
