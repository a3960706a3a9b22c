"""bf16 matrix product with a fused ReLU for Ascend: C = relu(A @ B^T). Cube cores multiply, vector cores apply the ReLU."""

import tilelang.ascend.language as T

VARIANTS = [
    {"BM": 256, "BN": 224, "BK": 128},
    {"BM": 128, "BN": 224, "BK": 128},
    {"BM": 128, "BN": 256, "BK": 128},
]
"""Variants of the family; the first one is the default."""


def kernel(M=1024, N=7168, K=2048, BM=256, BN=224, BK=128, stages=2, cores=32):
    """A: (M, K) bf16, B: (N, K) bf16, C: (M, N) float32; ``cores`` blocks walk over the tiles of C."""
    columns = N // BN
    tiles = M // BM * columns

    @T.prim_func
    def gemm_relu(
        A: T.Tensor((M, K), T.bfloat16),
        B: T.Tensor((N, K), T.bfloat16),
        C: T.Tensor((M, N), T.float32),
    ):
        with T.Kernel(cores) as core:
            A_l1 = T.alloc_l1((BM, BK), T.bfloat16)
            B_l1 = T.alloc_l1((BN, BK), T.bfloat16)
            C_l0c = T.alloc_l0c((BM, BN), T.float32)
            C_ub = T.alloc_shared((BM // 2, BN), T.float32)
            for tile in T.Persistent([tiles], cores, core):
                m, n = tile // columns * BM, tile % columns * BN
                for k in T.Pipelined(K // BK, num_stages=stages):
                    T.copy(A[m, k * BK], A_l1)
                    T.copy(B[n, k * BK], B_l1)
                    T.gemm(A_l1, B_l1, C_l0c, transpose_B=True, clear_accum=(k == 0))
                T.dual_copy(C_l0c, C_ub)
                with T.SimtVF(threads=128):
                    for i, j in T.Parallel(BM // 2, BN):
                        C_ub[i, j] = T.max(C_ub[i, j], 0)
                T.dual_copy(C_ub, C[m : m + BM, n : n + BN])

    return gemm_relu
