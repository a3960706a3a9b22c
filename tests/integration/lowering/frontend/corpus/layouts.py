"""A kernel with layouts of the caller's for its buffers; no part of the corpus, ``layouts_child.py`` lowers it."""

from typing import Any

import tilelang.language as T


def kernel(layouts: Any) -> Any:
    @T.prim_func
    def main(A: T.Tensor((64, 64), T.float16), B: T.Tensor((64, 64), T.float16), C: T.Tensor((64,), T.float32)):
        with T.Kernel(1, threads=128):
            tile = T.alloc_shared((64, 64), T.float16)
            part = T.alloc_fragment((64, 64), T.float16)
            row = T.alloc_fragment((64,), T.float32)
            T.annotate_layout(
                {tile if key == "tile" else row if key == "row" else part: layouts[key] for key in layouts}
            )
            T.copy(A, tile)
            T.copy(tile, part)
            for i in T.Parallel(64):
                row[i] = 3.0
            T.copy(part, B)
            T.copy(row, C)

    return main
