"""GEMM C = A @ B^T in bf16 for landscape entries ``[M, N, K, BM, BN, BK, depth, warpgroups(, load regs, consumer regs)]``.

``scheduled`` carries an explicit warp schedule; ``plain`` leaves everything to TileLang. Imports TileLang: children only.
"""

from typing import Any

import tilelang.language as T

SWIZZLE_PANEL = 10


def scheduled(
    M: int, N: int, K: int, BM: int, BN: int, BK: int, depth: int, warpgroups: int, load_regs: int, consumer_regs: int
) -> Any:
    """The kernel with roles consumer (first) and load, and one pipeline for both operand tiles."""
    warps = 4 * warpgroups
    sync = T.WSSync

    @T.prim_func
    def gemm(A: T.Tensor((M, K), T.bfloat16), B: T.Tensor((N, K), T.bfloat16), C: T.Tensor((M, N), T.bfloat16)):
        with T.Kernel(T.ceildiv(N, BN), T.ceildiv(M, BM), threads=32 * warps) as (bx, by):
            As = T.alloc_shared((BM, BK), T.bfloat16)
            Bs = T.alloc_shared((BN, BK), T.bfloat16)
            Cs = T.alloc_shared((BM, BN), T.bfloat16)
            acc = T.alloc_fragment((BM, BN), T.float32)
            T.use_swizzle(SWIZZLE_PANEL)
            T.annotate_ws_schedule(
                T.WSSchedule(
                    num_warps=warps + 4,
                    roles=[
                        T.WSRole("consumer", warps_lo=0, warps_hi=warps, max_nreg=consumer_regs),
                        T.WSRole("load", warps_lo=warps, warps_hi=warps + 1, max_nreg=load_regs),
                    ],
                    pipelines=[T.WSPipeline("as_bs", [As, Bs], depth=depth)],
                    scopes=[
                        T.WSScope(
                            "k",
                            {
                                "consumer": [sync.consumer_wait("as_bs"), "product", sync.consumer_release("as_bs")],
                                "load": [
                                    sync.producer_acquire("as_bs"),
                                    "load_a",
                                    "load_b",
                                    sync.producer_commit("as_bs"),
                                ],
                            },
                        ),
                        T.WSScope(T.WSScope.ROOT, {"consumer": ["clear", "k", "stage_c", "store_c"], "load": ["k"]}),
                    ],
                )
            )
            T.fill(acc, 0, annotations={T.WSID: "clear"})
            for k in T.Pipelined(T.ceildiv(K, BK), num_stages=depth, annotations={T.WSID: "k"}):
                T.copy(A[by * BM, k * BK], As, annotations={T.WSID: "load_a"})
                T.copy(B[bx * BN, k * BK], Bs, annotations={T.WSID: "load_b"})
                T.gemm(As, Bs, acc, transpose_B=True, annotations={T.WSID: "product"})
            T.copy(acc, Cs, annotations={T.WSID: "stage_c"})
            T.copy(Cs, C[by * BM, bx * BN], annotations={T.WSID: "store_c"})

    return gemm


def plain(M: int, N: int, K: int, BM: int, BN: int, BK: int, depth: int, warpgroups: int) -> Any:
    """The same kernel without a schedule: ``T.Pipelined(num_stages=depth)`` and ``128 * warpgroups`` threads."""

    @T.prim_func
    def gemm(A: T.Tensor((M, K), T.bfloat16), B: T.Tensor((N, K), T.bfloat16), C: T.Tensor((M, N), T.bfloat16)):
        with T.Kernel(T.ceildiv(N, BN), T.ceildiv(M, BM), threads=128 * warpgroups) as (bx, by):
            As = T.alloc_shared((BM, BK), T.bfloat16)
            Bs = T.alloc_shared((BN, BK), T.bfloat16)
            Cs = T.alloc_shared((BM, BN), T.bfloat16)
            acc = T.alloc_fragment((BM, BN), T.float32)
            T.use_swizzle(SWIZZLE_PANEL)
            T.clear(acc)
            for k in T.Pipelined(T.ceildiv(K, BK), num_stages=depth):
                T.copy(A[by * BM, k * BK], As)
                T.copy(B[bx * BN, k * BK], Bs)
                T.gemm(As, Bs, acc, transpose_B=True)
            T.copy(acc, Cs)
            T.copy(Cs, C[by * BM, bx * BN])

    return gemm
