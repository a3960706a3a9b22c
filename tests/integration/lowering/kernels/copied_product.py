"""A product whose tiles come by ``cp.async``."""

import tilelang.language as T


def kernel(M=4096, N=4096, K=4096, BM=128, BN=64, BK=64, threads=128):
    @T.prim_func
    def copied_product(A: T.Tensor((M, K), T.float16), B: T.Tensor((N, K), T.float16), C: T.Tensor((M, N), T.float16)):
        with T.Kernel(T.ceildiv(N, BN), T.ceildiv(M, BM), threads=threads) as (bx, by):
            As = T.alloc_shared((BM, BK), T.float16)
            Bs = T.alloc_shared((BN, BK), T.float16)
            c = T.alloc_fragment((BM, BN), T.float32)
            T.clear(c)
            for k in T.Pipelined(T.ceildiv(K, BK), num_stages=3):
                T.copy(A[by * BM, k * BK], As, prefer_instruction="cp_async")
                T.copy(B[bx * BN, k * BK], Bs, prefer_instruction="cp_async")
                T.gemm(As, Bs, c, transpose_B=True)
            T.copy(c, C[by * BM, bx * BN])

    return copied_product
