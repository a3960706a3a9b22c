"""A product for two blocks an SM: TileLang's default requests twice the registers that there are, and hangs."""

import tilelang.language as T


def kernel(M=512, K=512):
    @T.prim_func
    def two_blocks(A: T.Tensor((M, K), T.bfloat16), B: T.Tensor((K, M), T.bfloat16), C: T.Tensor((M, M), T.bfloat16)):
        with T.Kernel(M // 128, M // 128, threads=256) as (bx, by):
            T.annotate_min_blocks_per_sm(2)
            As = T.alloc_shared((128, 64), T.bfloat16)
            Bs = T.alloc_shared((64, 128), T.bfloat16)
            acc = T.alloc_fragment((128, 128), T.float32)
            T.clear(acc)
            for k in T.Pipelined(K // 64, num_stages=1):
                T.copy(A[by * 128, k * 64], As)
                T.copy(B[k * 64, bx * 128], Bs)
                T.gemm(As, Bs, acc)
            T.copy(acc, C[by * 128, bx * 128])

    return two_blocks
