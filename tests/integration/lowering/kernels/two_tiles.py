"""Two tiles a trip, each read by threads on its own: their uses can lie in different trips."""

import tilelang.language as T


def kernel(N=4096, K=2048, BM=64, BK=32, threads=128):
    @T.prim_func
    def two_tiles(X: T.Tensor((N, K), T.float32), Z: T.Tensor((N, K), T.float32), Y: T.Tensor((2, N, K), T.float32)):
        with T.Kernel(T.ceildiv(N, BM), threads=threads) as bx:
            Xs = T.alloc_shared((BM, BK), T.float32)
            Zs = T.alloc_shared((BM, BK), T.float32)
            for k in T.Pipelined(T.ceildiv(K, BK), num_stages=3):
                T.copy(Z[bx * BM : (bx + 1) * BM, k * BK : (k + 1) * BK], Zs)
                for i, j in T.Parallel(BM, BK):
                    Y[0, bx * BM + i, k * BK + j] = Zs[i, j] + Zs[i, BK - 1 - j]
                T.copy(X[bx * BM : (bx + 1) * BM, k * BK : (k + 1) * BK], Xs)
                for i, j in T.Parallel(BM, BK):
                    Y[1, bx * BM + i, k * BK + j] = Xs[i, j] + Xs[i, BK - 1 - j]

    return two_tiles
