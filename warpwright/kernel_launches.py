"""A function with several ``T.Kernel`` becomes one function for each: a schedule, a build and a time belong to one launch.

Imports TileLang: runs in a child on the user's side only. Each function keeps all parameters, so that the tensors between two
launches are parameters of both.
"""

from typing import Any

__all__ = ["launches_of"]


def launches_of(function: Any) -> dict[str, Any]:
    """One function for each launch, by its number from ``1``; ``{"": function}`` for a function with one launch.

    A function whose launches share more than parameters (memory of its own, code on the host between them) stays whole:
    reading refuses it with its reason.
    """
    from tilelang import tvm

    tirx = tvm.tirx
    root = function.body
    if not isinstance(root, tirx.SBlockRealize) or len(root.block.alloc_buffers):
        return {"": function}
    parts = list(root.block.body.seq) if isinstance(root.block.body, tirx.SeqStmt) else [root.block.body]
    if len(parts) < 2 or not all(_launches(part) == 1 for part in parts):
        return {"": function}
    symbol = str(function.attrs["global_symbol"]) if "global_symbol" in (function.attrs or {}) else "main"
    return {str(number): _alone(function, part, f"{symbol}_{number}") for number, part in enumerate(parts, 1)}


def _launches(part: Any) -> int:
    from tilelang import tvm

    from warpwright.lowering.frontend.launch import is_kernel_block

    found: list[Any] = []

    def visit(node: Any) -> None:
        if isinstance(node, tvm.tirx.SBlock) and is_kernel_block(node):
            found.append(node)

    tvm.tirx.stmt_functor.post_order_visit(part, visit)
    return len(found)


def _alone(function: Any, part: Any, symbol: str) -> Any:
    from tilelang import tvm

    tirx = tvm.tirx
    root = function.body
    old = root.block
    block = tirx.SBlock(old.iter_vars, old.reads, old.writes, old.name_hint, part, old.init, [], [], old.annotations)
    realize = tirx.SBlockRealize(root.iter_values, root.predicate, block)
    return function.with_body(realize).with_attr("global_symbol", symbol)
