"""bf16 matrix product with a fused bias and ReLU epilogue: C = relu(A @ B^T + bias). A plain kernel, without a schedule."""

import tilelang.language as T

VARIANTS = [
    {"BM": 128, "BN": 256, "BK": 64, "threads": 256},
    {"BM": 256, "BN": 128, "BK": 64, "threads": 256},
    {"BM": 128, "BN": 128, "BK": 64, "threads": 256},
    {"BM": 128, "BN": 192, "BK": 64, "threads": 256},
    {"BM": 192, "BN": 192, "BK": 64, "threads": 384},
    {"BM": 128, "BN": 256, "BK": 64, "threads": 256, "workers": 132},
    {"BM": 192, "BN": 128, "BK": 64, "threads": 384, "workers": 132},
    {"BM": 128, "BN": 256, "BK": 64, "threads": 256, "workers": 132, "parts": 1},
    {"BM": 128, "BN": 256, "BK": 64, "threads": 256, "workers": 132, "parts": 4},
    {"BM": 128, "BN": 256, "BK": 64, "threads": 256, "stages": 2, "workers": 132, "parts": 4, "flight": 2},
    {"BM": 128, "BN": 256, "BK": 64, "threads": 256, "stages": 2, "workers": 132, "parts": 2, "flight": 2, "panel": 8},
    {"BM": 128, "BN": 256, "BK": 32, "threads": 256, "workers": 132, "parts": 1, "flight": 2},
]
"""Variants of the family; the first one is the default. ``workers`` > 0: a persistent kernel of that many blocks.

``parts`` > 0: each warpgroup has whole rows of the tile, so that one instruction is 256 columns wide and reads A once; the bias
is loaded before the loop; C leaves through a buffer of ``1 / parts`` of the tile, which leaves more memory for the
ring of A and B. ``flight`` 2: the next step's product is started before the last one's is waited for.
"""

CHECK_SIZES = [{"M": 1000, "N": 1544}]
"""Sizes at which a winner is checked too: fewer tiles than an H200 has multiprocessors, the last ones of a row and a
column ragged.
"""

PANEL = 8
"""Rows of tiles that a persistent kernel walks together, so that neighbouring blocks share operand tiles in the L2 cache."""


def kernel(
    M=4096, N=4096, K=4096, BM=128, BN=256, BK=64, threads=256, stages=3, workers=0, parts=0, flight=1, panel=16
):
    """A: (M, K) bf16, B: (N, K) bf16, bias: (N,) bf16, C: (M, N) bf16; accumulation in float32."""
    if workers and parts:
        build = in_pairs if flight == 2 else by_rows
        return build(M, N, K, BM, BN, BK, threads, stages, workers, BN // parts, panel)
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


def by_rows(M, N, K, BM, BN, BK, threads, stages, workers, CN, panel):
    """A persistent product whose warpgroups own whole rows; C leaves in parts of ``CN`` columns."""
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
            acc = T.alloc_fragment((BM, BN), T.float32)
            bias_local = T.alloc_fragment((BN,), T.bfloat16)
            for wave in T.serial(T.ceildiv(tiles - worker, workers)):
                tile = worker + wave * workers
                first = tile // (panel * columns) * panel
                height = T.min(panel, rows - first)
                by = first + tile % (panel * columns) % height
                bx = tile % (panel * columns) // height
                T.copy(bias[bx * BN], bias_local)
                T.clear(acc)
                for k in T.Pipelined(T.ceildiv(K, BK), num_stages=stages):
                    T.copy(A[by * BM, k * BK], As)
                    T.copy(B[bx * BN, k * BK], Bs)
                    T.gemm(As, Bs, acc, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
                for i, j in T.Parallel(BM, BN):
                    acc[i, j] = T.max(acc[i, j] + T.cast(bias_local[j], T.float32), T.float32(0))
                for part in T.unroll(BN // CN):
                    T.copy(acc[0:BM, part * CN : (part + 1) * CN], Cs)
                    T.copy(Cs, C[by * BM, bx * BN + part * CN])

    return gemm_bias_relu


def in_pairs(M, N, K, BM, BN, BK, threads, stages, workers, CN, panel):
    """As :func:`by_rows`, two steps of K per iteration: the tensor core has the second when the first is waited for."""
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
            At = T.alloc_shared((BM, BK), T.bfloat16)
            Bt = T.alloc_shared((BN, BK), T.bfloat16)
            Cs = T.alloc_shared((BM, CN), T.bfloat16)
            acc = T.alloc_fragment((BM, BN), T.float32)
            bias_local = T.alloc_fragment((BN,), T.bfloat16)
            for wave in T.serial(T.ceildiv(tiles - worker, workers)):
                tile = worker + wave * workers
                first = tile // (panel * columns) * panel
                height = T.min(panel, rows - first)
                by = first + tile % (panel * columns) % height
                bx = tile % (panel * columns) // height
                T.copy(bias[bx * BN], bias_local)
                T.clear(acc)
                for k in T.Pipelined(T.ceildiv(K, 2 * BK), num_stages=stages):
                    T.copy(A[by * BM, k * 2 * BK], As)
                    T.copy(B[bx * BN, k * 2 * BK], Bs)
                    T.copy(A[by * BM, k * 2 * BK + BK], At)
                    T.copy(B[bx * BN, k * 2 * BK + BK], Bt)
                    T.wgmma_gemm(As, Bs, acc, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
                    T.wgmma_gemm(At, Bt, acc, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
                    T.wait_wgmma(1)
                    T.wait_wgmma(0)
                for i, j in T.Parallel(BM, BN):
                    acc[i, j] = T.max(acc[i, j] + T.cast(bias_local[j], T.float32), T.float32(0))
                for part in T.unroll(BN // CN):
                    T.copy(acc[0:BM, part * CN : (part + 1) * CN], Cs)
                    T.copy(Cs, C[by * BM, bx * BN + part * CN])

    return gemm_bias_relu
