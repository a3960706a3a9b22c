"""Child process: how often a loop runs in each block, as written and after the compiler's own simplification. JSON out."""

import json
import sys
from collections.abc import Callable
from typing import Any

import tilelang
import tilelang.language as T
from tilelang import tvm

from warpwright.lowering.compile.empty_loops import guard_empty_loops

tirx = tvm.tirx
BLOCKS = 64
EXTENTS: dict[str, Callable[[Any], Any]] = {
    "a wave for half the blocks": lambda b: T.ceildiv(32 - b, BLOCKS),
    "the last block only": lambda b: b // 63,
    "one or two": lambda b: (65 - b) // 32,
    "none to two": lambda b: T.max(2 - b // 16, 0),
    "none or two": lambda b: (95 - b) // 64 * 2,
    "every other block": lambda b: b % 2,
    "a condition already": lambda b: T.if_then_else(b < 5, 1, 0),
    "always once": lambda b: (b + 64) // (b + 64),
}


def kernel(extent: Callable[[Any], Any]) -> Any:
    @T.prim_func
    def main(A: T.Tensor((BLOCKS,), T.float32)):
        with T.Kernel(BLOCKS, threads=32) as b:
            for _wave in T.serial(extent(b)):
                A[b] = A[b] + 1.0

    return main


def trips(function: Any) -> list[int]:
    """Trips of the only loop, block by block; no loop at all counts as one trip."""
    loops: list[Any] = []

    def visit(node: Any) -> None:
        if isinstance(node, tirx.For):
            loops.append(node)

    tirx.stmt_functor.post_order_visit(function.body, visit)
    *inner, blocks = loops
    if not inner:
        return [1] * BLOCKS
    analyzer = tvm.arith.Analyzer()
    in_block = [{blocks.loop_var: tirx.const(block)} for block in range(BLOCKS)]
    return [max(0, int(analyzer.simplify(tirx.stmt_functor.substitute(inner[0].extent, b)))) for b in in_block]


def simplified(function: Any) -> Any:
    target = tvm.target.Target({"kind": "cuda", "arch": "sm_90a"})
    with target:
        module = tirx.transform.BindTarget(target)(tvm.IRModule({"main": function.with_attr("global_symbol", "main")}))
        return tilelang.transform.Simplify()(module)["main"]


def main() -> None:
    answer = {}
    for name, extent in EXTENTS.items():
        function = kernel(extent)
        guarded = guard_empty_loops(function)
        answer[name] = {
            "written": trips(function),
            "compiled": trips(simplified(function)),
            "guarded": trips(simplified(guarded)),
            "changed": not guarded.same_as(function),
        }
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
