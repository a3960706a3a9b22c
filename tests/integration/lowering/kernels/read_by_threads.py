"""A kernel as a user writes it: bulk copies fill a tile, threads read it, their scattered stores keep the load unit busy."""

import tilelang.language as T

VARIANTS = [{"BK": 32}]


def kernel(N=4096, K=2048, BM=64, BK=32, threads=128, fenced=False):
    @T.prim_func
    def read_by_threads(X: T.Tensor((N, K), T.float32), S: T.Tensor((N,), T.float32), Y: T.Tensor((K, N), T.float32)):
        with T.Kernel(T.ceildiv(N, BM), threads=threads) as bx:
            Xs = T.alloc_shared((BM, BK), T.float32)
            Ss = T.alloc_shared((BM,), T.float32)
            y = T.alloc_fragment((BM, BK), T.float32)
            T.copy(S[bx * BM : (bx + 1) * BM], Ss)
            for k in T.Pipelined(T.ceildiv(K, BK), num_stages=2):
                T.copy(X[bx * BM : (bx + 1) * BM, k * BK : (k + 1) * BK], Xs)
                for i, j in T.Parallel(BM, BK):
                    y[i, j] = Xs[i, j] * Ss[i] + Xs[i, BK - 1 - j]
                if fenced:
                    T.fence_proxy_async()
                for i, j in T.Parallel(BM, BK):
                    Y[k * BK + j, bx * BM + i] = y[i, j]

    return read_by_threads
