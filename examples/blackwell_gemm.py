"""bf16 matrix product for Blackwell with a fused bias and ReLU epilogue: C = relu(A @ B^T + bias), accumulated in tensor memory.

A plain kernel, without a schedule. The product's result lies in tensor memory, so a role of one warp starts products while the
epilogue still reads the tile before: in a persistent kernel the accumulator has two versions.
"""

import tilelang.language as T

VARIANTS = [
    {"BM": 128, "BN": 128, "BK": 128, "CN": 64, "workers": 148},
    {"BM": 128, "BN": 256, "BK": 64, "CN": 64, "workers": 148},
    {"BM": 128, "BN": 128, "BK": 64, "CN": 64, "workers": 148},
    {"BM": 128, "BN": 256, "BK": 64, "CN": 64, "workers": 0},
]
"""Variants of the family; the first one is the default. ``workers`` > 0: a persistent kernel of that many blocks, one for each
multiprocessor of a B200. C leaves through a buffer of ``CN`` columns, which leaves more memory for the ring of A and B.
"""

CHECK_SIZES = [{"M": 1000, "N": 1544}]
"""Fewer tiles than a B200 has multiprocessors, the last ones of a row and a column ragged."""

PANEL = 8
"""Rows of tiles that a persistent kernel walks together, so that neighbouring blocks share operand tiles in the L2 cache."""


def kernel(M=4096, N=4096, K=4096, BM=128, BN=128, BK=128, CN=64, threads=128, stages=3, workers=148):
    """A: (M, K) bf16, B: (N, K) bf16, bias: (N,) bf16, C: (M, N) bf16; accumulation in float32."""
    if workers:
        return persistent(M, N, K, BM, BN, BK, CN, threads, stages, workers)

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
            Cs = T.alloc_shared((BM, CN), T.bfloat16)
            acc = T.alloc_tmem((BM, BN), T.float32)
            part_of_c = T.alloc_fragment((BM, CN), T.float32)
            bias_local = T.alloc_fragment((CN,), T.bfloat16)
            T.use_swizzle(10)
            for k in T.Pipelined(T.ceildiv(K, BK), num_stages=stages):
                T.copy(A[by * BM, k * BK], As)
                T.copy(B[bx * BN, k * BK], Bs)
                T.gemm(As, Bs, acc, transpose_B=True, clear_accum=k == 0)
            for part in T.unroll(BN // CN):
                T.copy(bias[bx * BN + part * CN], bias_local)
                T.copy(acc[:, part * CN : (part + 1) * CN], part_of_c)
                for i, j in T.Parallel(BM, CN):
                    part_of_c[i, j] = T.max(part_of_c[i, j] + T.cast(bias_local[j], T.float32), T.float32(0))
                T.copy(part_of_c, Cs)
                T.copy(Cs, C[by * BM, bx * BN + part * CN])

    return gemm_bias_relu


def persistent(M, N, K, BM, BN, BK, CN, threads, stages, workers):
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
            Cs = T.alloc_shared((BM, CN), T.bfloat16)
            acc = T.alloc_tmem((BM, BN), T.float32)
            part_of_c = T.alloc_fragment((BM, CN), T.float32)
            bias_local = T.alloc_fragment((CN,), T.bfloat16)
            for wave in T.serial(T.ceildiv(tiles - worker, workers)):
                tile = worker + wave * workers
                first = tile // (PANEL * columns) * PANEL
                height = T.min(PANEL, rows - first)
                by = first + tile % (PANEL * columns) % height
                bx = tile % (PANEL * columns) // height
                for k in T.Pipelined(T.ceildiv(K, BK), num_stages=stages):
                    T.copy(A[by * BM, k * BK], As)
                    T.copy(B[bx * BN, k * BK], Bs)
                    T.gemm(As, Bs, acc, transpose_B=True, clear_accum=k == 0)
                for part in T.unroll(BN // CN):
                    T.copy(bias[bx * BN + part * CN], bias_local)
                    T.copy(acc[:, part * CN : (part + 1) * CN], part_of_c)
                    for i, j in T.Parallel(BM, CN):
                        part_of_c[i, j] = T.max(part_of_c[i, j] + T.cast(bias_local[j], T.float32), T.float32(0))
                    T.copy(part_of_c, Cs)
                    T.copy(Cs, C[by * BM, bx * BN + part * CN])

    return gemm_bias_relu
