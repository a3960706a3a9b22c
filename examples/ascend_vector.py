"""Element-wise sum of two vectors for Ascend, tile by tile on the vector cores."""

import tilelang.ascend.language as T

VARIANTS = [{"TILE": 4096}, {"TILE": 8192}]
"""Variants of the family; the first one is the default."""


def kernel(N=2_097_152, TILE=4096, stages=2, cores=64):
    """X, Y, Z: (N,) float32; Z = X + Y."""
    tiles = N // TILE

    @T.prim_func
    def vector_add(X: T.Tensor((N,), T.float32), Y: T.Tensor((N,), T.float32), Z: T.Tensor((N,), T.float32)):
        with T.Kernel(cores) as core:
            x = T.alloc_shared((TILE,), T.float32)
            y = T.alloc_shared((TILE,), T.float32)
            z = T.alloc_shared((TILE,), T.float32)
            for tile in T.Persistent([tiles], cores, core, num_stages=stages):
                T.copy(X[tile * TILE], x)
                T.copy(Y[tile * TILE], y)
                with T.SimtVF(threads=128):
                    for i in T.Parallel(TILE):
                        z[i] = x[i] + y[i]
                T.copy(z, Z[tile * TILE])

    return vector_add
