"""bf16 matrix product with a fused bias and ReLU epilogue: C = relu(A @ B^T + bias). A plain kernel, no schedule in it."""

import tilelang.language as T

VARIANTS = [
    {"BM": 128, "BN": 256, "BK": 64, "threads": 256},
    {"BM": 256, "BN": 128, "BK": 64, "threads": 256},
    {"BM": 128, "BN": 128, "BK": 64, "threads": 256},
    {"BM": 128, "BN": 192, "BK": 64, "threads": 256},
    {"BM": 192, "BN": 192, "BK": 64, "threads": 384},
    {"BM": 128, "BN": 256, "BK": 64, "threads": 256, "workers": 132},
    {"BM": 192, "BN": 128, "BK": 64, "threads": 384, "workers": 132},
]
"""Variants of the family; the first one is the default. ``workers`` > 0: a persistent kernel of that many blocks."""

CHECK_SIZES = [{"M": 1000, "N": 1544}]
"""Where a winner is checked too: fewer tiles than an H200 has multiprocessors, the last ones of a row and a column ragged."""

PANEL = 8
"""Rows of tiles that a persistent kernel walks together, so that neighbouring blocks share operand tiles in the L2 cache."""


def kernel(M=4096, N=4096, K=4096, BM=128, BN=256, BK=64, threads=256, stages=3, workers=0):
    """A: (M, K) bf16, B: (N, K) bf16, bias: (N,) bf16, C: (M, N) bf16; accumulation in float32."""
    if workers:
        return persistent(M, N, K, BM, BN, BK, threads, stages, workers)

    @T.prim_func
    def gemm_bias_relu(
        A: T.Tensor((M, K), T.bfloat16),
        B: T.Tensor((N, K), T.bfloat16),
        bias: T.Tensor((N,), T.bfloat16),
        C: T.Tensor((M, N), T.bfloat16),
    ):
        with T.Kernel(T.ceildiv(N, BN), T.ceildiv(M, BM), threads=threads) as (bx, by):
            As = T.alloc_shared((BM, BK), T.bfloat16)
            Bs = T.alloc_shared((BN, BK), T.bfloat16)
            Cs = T.alloc_shared((BM, BN), T.bfloat16)
            acc = T.alloc_fragment((BM, BN), T.float32)
            bias_local = T.alloc_fragment((BN,), T.bfloat16)
            T.use_swizzle(10)
            T.clear(acc)
            for k in T.Pipelined(T.ceildiv(K, BK), num_stages=stages):
                T.copy(A[by * BM, k * BK], As)
                T.copy(B[bx * BN, k * BK], Bs)
                T.gemm(As, Bs, acc, transpose_B=True)
            T.copy(bias[bx * BN], bias_local)
            for i, j in T.Parallel(BM, BN):
                acc[i, j] = T.max(acc[i, j] + T.cast(bias_local[j], T.float32), T.float32(0))
            T.copy(acc, Cs)
            T.copy(Cs, C[by * BM, bx * BN])

    return gemm_bias_relu


def persistent(M, N, K, BM, BN, BK, threads, stages, workers):
    """The same product with ``workers`` blocks that each walk over several tiles of C."""
    rows, columns = -(-M // BM), -(-N // BN)
    tiles = rows * columns

    @T.prim_func
    def gemm_bias_relu(
        A: T.Tensor((M, K), T.bfloat16),
        B: T.Tensor((N, K), T.bfloat16),
        bias: T.Tensor((N,), T.bfloat16),
        C: T.Tensor((M, N), T.bfloat16),
    ):
        with T.Kernel(workers, threads=threads) as (worker,):
            As = T.alloc_shared((BM, BK), T.bfloat16)
            Bs = T.alloc_shared((BN, BK), T.bfloat16)
            Cs = T.alloc_shared((BM, BN), T.bfloat16)
            acc = T.alloc_fragment((BM, BN), T.float32)
            bias_local = T.alloc_fragment((BN,), T.bfloat16)
            for wave in T.serial(T.ceildiv(tiles - worker, workers)):
                tile = worker + wave * workers
                first = tile // (PANEL * columns) * PANEL
                height = T.min(PANEL, rows - first)
                by = first + tile % (PANEL * columns) % height
                bx = tile % (PANEL * columns) // height
                T.clear(acc)
                for k in T.Pipelined(T.ceildiv(K, BK), num_stages=stages):
                    T.copy(A[by * BM, k * BK], As)
                    T.copy(B[bx * BN, k * BK], Bs)
                    T.gemm(As, Bs, acc, transpose_B=True)
                T.copy(bias[bx * BN], bias_local)
                for i, j in T.Parallel(BM, BN):
                    acc[i, j] = T.max(acc[i, j] + T.cast(bias_local[j], T.float32), T.float32(0))
                T.copy(acc, Cs)
                T.copy(Cs, C[by * BM, bx * BN])

    return gemm_bias_relu
