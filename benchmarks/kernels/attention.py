"""Attention forward in bf16 for landscape entries ``[B, H, S, D, BM, BN, depth, warpgroups, load regs, consumer regs]``.

``scheduled`` carries an explicit warp schedule (own pipelines for K and V, Q at the root), ``plain`` leaves everything to
TileLang. Imports TileLang: children only.
"""

from typing import Any

import tilelang.language as T

LOG2_E = 1.44269504


def scheduled(
    B: int, H: int, S: int, D: int, BM: int, BN: int, depth: int, warpgroups: int, load_regs: int, consumer_regs: int
) -> Any:
    """Roles consumer (first) and load; the softmax stands between the two products, in source order."""
    warps = 4 * warpgroups
    scale = (1.0 / D) ** 0.5 * LOG2_E
    shape = (B, H, S, D)
    sync = T.WSSync

    @T.prim_func
    def attention(
        Q: T.Tensor(shape, T.bfloat16),
        K: T.Tensor(shape, T.bfloat16),
        V: T.Tensor(shape, T.bfloat16),
        O: T.Tensor(shape, T.bfloat16),  # noqa: E741
    ):
        with T.Kernel(T.ceildiv(S, BM), H, B, threads=32 * warps) as (bx, by, bz):
            Qs = T.alloc_shared((BM, D), T.bfloat16)
            Ks = T.alloc_shared((BN, D), T.bfloat16)
            Vs = T.alloc_shared((BN, D), T.bfloat16)
            Os = T.alloc_shared((BM, D), T.bfloat16)
            scores = T.alloc_fragment((BM, BN), T.float32)
            probs = T.alloc_fragment((BM, BN), T.bfloat16)
            acc = T.alloc_fragment((BM, D), T.float32)
            row_max = T.alloc_fragment((BM,), T.float32)
            row_max_prev = T.alloc_fragment((BM,), T.float32)
            rescale = T.alloc_fragment((BM,), T.float32)
            row_sum = T.alloc_fragment((BM,), T.float32)
            denominator = T.alloc_fragment((BM,), T.float32)
            T.annotate_ws_schedule(
                T.WSSchedule(
                    num_warps=warps + 4,
                    roles=[
                        T.WSRole("consumer", warps_lo=0, warps_hi=warps, max_nreg=consumer_regs),
                        T.WSRole("load", warps_lo=warps, warps_hi=warps + 1, max_nreg=load_regs),
                    ],
                    pipelines=[
                        T.WSPipeline("qs", [Qs], depth=1),
                        T.WSPipeline("ks", [Ks], depth=depth),
                        T.WSPipeline("vs", [Vs], depth=depth),
                    ],
                    scopes=[
                        T.WSScope(
                            "k",
                            {
                                "consumer": [
                                    "clear_scores",
                                    sync.consumer_wait("ks"),
                                    "qk",
                                    sync.consumer_release("ks"),
                                    "keep_max",
                                    "new_max",
                                    "factor",
                                    "exponentials",
                                    "sum",
                                    "denominator",
                                    "cast",
                                    "rescale_acc",
                                    sync.consumer_wait("vs"),
                                    "pv",
                                    sync.consumer_release("vs"),
                                ],
                                "load": [
                                    sync.producer_acquire("ks"),
                                    "load_k",
                                    sync.producer_commit("ks"),
                                    sync.producer_acquire("vs"),
                                    "load_v",
                                    sync.producer_commit("vs"),
                                ],
                            },
                        ),
                        T.WSScope(
                            T.WSScope.ROOT,
                            {
                                "consumer": [
                                    "clear_acc",
                                    "clear_denominator",
                                    "clear_max",
                                    sync.consumer_wait("qs"),
                                    "k",
                                    sync.consumer_release("qs"),
                                    "normalise",
                                    "stage_o",
                                    "store_o",
                                ],
                                "load": [sync.producer_acquire("qs"), "load_q", sync.producer_commit("qs"), "k"],
                            },
                        ),
                    ],
                )
            )
            T.copy(Q[bz, by, bx * BM : (bx + 1) * BM, :], Qs, annotations={T.WSID: "load_q"})
            T.fill(acc, 0, annotations={T.WSID: "clear_acc"})
            T.fill(denominator, 0, annotations={T.WSID: "clear_denominator"})
            T.fill(row_max, -T.infinity(T.float32), annotations={T.WSID: "clear_max"})
            for k in T.Pipelined(T.ceildiv(S, BN), num_stages=depth, annotations={T.WSID: "k"}):
                T.copy(K[bz, by, k * BN : (k + 1) * BN, :], Ks, annotations={T.WSID: "load_k"})
                T.fill(scores, 0, annotations={T.WSID: "clear_scores"})
                T.gemm(
                    Qs,
                    Ks,
                    scores,
                    transpose_B=True,
                    policy=T.GemmWarpPolicy.FullRow,
                    annotations={T.WSID: "qk"},
                )
                T.copy(row_max, row_max_prev, annotations={T.WSID: "keep_max"})
                T.reduce_max(scores, row_max, dim=1, clear=False, annotations={T.WSID: "new_max"})
                for i in T.Parallel(BM, annotations={T.WSID: "factor"}):
                    rescale[i] = T.exp2(row_max_prev[i] * scale - row_max[i] * scale)
                for i, j in T.Parallel(BM, BN, annotations={T.WSID: "exponentials"}):
                    scores[i, j] = T.exp2(scores[i, j] * scale - row_max[i] * scale)
                T.reduce_sum(scores, row_sum, dim=1, annotations={T.WSID: "sum"})
                for i in T.Parallel(BM, annotations={T.WSID: "denominator"}):
                    denominator[i] = denominator[i] * rescale[i] + row_sum[i]
                T.copy(scores, probs, annotations={T.WSID: "cast"})
                for i, j in T.Parallel(BM, D, annotations={T.WSID: "rescale_acc"}):
                    acc[i, j] *= rescale[i]
                T.copy(V[bz, by, k * BN : (k + 1) * BN, :], Vs, annotations={T.WSID: "load_v"})
                T.gemm(probs, Vs, acc, policy=T.GemmWarpPolicy.FullRow, annotations={T.WSID: "pv"})
            for i, j in T.Parallel(BM, D, annotations={T.WSID: "normalise"}):
                acc[i, j] /= denominator[i]
            T.copy(acc, Os, annotations={T.WSID: "stage_o"})
            T.copy(Os, O[bz, by, bx * BM : (bx + 1) * BM, :], annotations={T.WSID: "store_o"})

    return attention


def plain(B: int, H: int, S: int, D: int, BM: int, BN: int, depth: int, warpgroups: int) -> Any:
    """The same kernel without a schedule: ``T.Pipelined(num_stages=depth)`` and ``128 * warpgroups`` threads."""
    scale = (1.0 / D) ** 0.5 * LOG2_E
    shape = (B, H, S, D)

    @T.prim_func
    def attention(
        Q: T.Tensor(shape, T.bfloat16),
        K: T.Tensor(shape, T.bfloat16),
        V: T.Tensor(shape, T.bfloat16),
        O: T.Tensor(shape, T.bfloat16),  # noqa: E741
    ):
        with T.Kernel(T.ceildiv(S, BM), H, B, threads=128 * warpgroups) as (bx, by, bz):
            Qs = T.alloc_shared((BM, D), T.bfloat16)
            Ks = T.alloc_shared((BN, D), T.bfloat16)
            Vs = T.alloc_shared((BN, D), T.bfloat16)
            Os = T.alloc_shared((BM, D), T.bfloat16)
            scores = T.alloc_fragment((BM, BN), T.float32)
            probs = T.alloc_fragment((BM, BN), T.bfloat16)
            acc = T.alloc_fragment((BM, D), T.float32)
            row_max = T.alloc_fragment((BM,), T.float32)
            row_max_prev = T.alloc_fragment((BM,), T.float32)
            rescale = T.alloc_fragment((BM,), T.float32)
            row_sum = T.alloc_fragment((BM,), T.float32)
            denominator = T.alloc_fragment((BM,), T.float32)
            T.copy(Q[bz, by, bx * BM : (bx + 1) * BM, :], Qs)
            T.clear(acc)
            T.clear(denominator)
            T.fill(row_max, -T.infinity(T.float32))
            for k in T.Pipelined(T.ceildiv(S, BN), num_stages=depth):
                T.copy(K[bz, by, k * BN : (k + 1) * BN, :], Ks)
                T.clear(scores)
                T.gemm(Qs, Ks, scores, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
                T.copy(row_max, row_max_prev)
                T.reduce_max(scores, row_max, dim=1, clear=False)
                for i in T.Parallel(BM):
                    rescale[i] = T.exp2(row_max_prev[i] * scale - row_max[i] * scale)
                for i, j in T.Parallel(BM, BN):
                    scores[i, j] = T.exp2(scores[i, j] * scale - row_max[i] * scale)
                T.reduce_sum(scores, row_sum, dim=1)
                for i in T.Parallel(BM):
                    denominator[i] = denominator[i] * rescale[i] + row_sum[i]
                T.copy(scores, probs)
                for i, j in T.Parallel(BM, D):
                    acc[i, j] *= rescale[i]
                T.copy(V[bz, by, k * BN : (k + 1) * BN, :], Vs)
                T.gemm(probs, Vs, acc, policy=T.GemmWarpPolicy.FullRow)
            for i, j in T.Parallel(BM, D):
                acc[i, j] /= denominator[i]
            T.copy(acc, Os)
            T.copy(Os, O[bz, by, bx * BM : (bx + 1) * BM, :])

    return attention
