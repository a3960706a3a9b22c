"""A kernel with a size that is known only at the launch, and a count that only its caller knows."""

from typing import Any

import tilelang.language as T


def kernel(N: int = 512) -> Any:
    M = T.dynamic("m")

    @T.prim_func
    def scaled(X: T.Tensor((M, N), T.float32), count: T.int32, Y: T.Tensor((M, N), T.float32)) -> None:
        with T.Kernel(T.ceildiv(M, 64), threads=128) as bx:
            xs = T.alloc_shared((64, N), T.float32)
            for _ in T.serial(count):
                T.copy(X[bx * 64, 0], xs)
                T.copy(xs, Y[bx * 64, 0])

    return scaled
