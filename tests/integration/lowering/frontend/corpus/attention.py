"""Two products and a softmax in one loop."""

from collections.abc import Callable
from typing import Any

import tilelang.language as T

Factory = Callable[[], Any]


def causal_attention() -> Any:
    batch, heads, seq, dim, bm, bn = 2, 4, 2048, 64, 128, 128
    shape = (batch, heads, seq, dim)
    scale = 0.125 * 1.44269504

    @T.prim_func
    def main(
        Q: T.Tensor(shape, T.float16),
        K: T.Tensor(shape, T.float16),
        V: T.Tensor(shape, T.float16),
        O: T.Tensor(shape, T.float16),  # noqa: E741
    ):
        with T.Kernel(T.ceildiv(seq, bm), heads, batch, threads=256) as (bx, by, bz):
            Qs = T.alloc_shared((bm, dim), T.float16)
            Ks = T.alloc_shared((bn, dim), T.float16)
            Vs = T.alloc_shared((bn, dim), T.float16)
            S = T.alloc_fragment((bm, bn), T.float32)
            P = T.alloc_fragment((bm, bn), T.float16)
            acc = T.alloc_fragment((bm, dim), T.float32)
            top = T.alloc_fragment((bm,), T.float32)
            top_prev = T.alloc_fragment((bm,), T.float32)
            rescale = T.alloc_fragment((bm,), T.float32)
            part = T.alloc_fragment((bm,), T.float32)
            total = T.alloc_fragment((bm,), T.float32)
            T.copy(Q[bz, by, bx * bm : (bx + 1) * bm, :], Qs)
            T.fill(acc, 0)
            T.fill(total, 0)
            T.fill(top, -T.infinity(T.float32))
            for k in T.Pipelined(T.min(T.ceildiv(seq, bn), T.ceildiv((bx + 1) * bm, bn)), num_stages=2):
                T.copy(K[bz, by, k * bn : (k + 1) * bn, :], Ks)
                for i, j in T.Parallel(bm, bn):
                    S[i, j] = T.if_then_else(bx * bm + i >= k * bn + j, 0, -T.infinity(T.float32))
                T.gemm(Qs, Ks, S, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
                T.copy(top, top_prev)
                T.fill(top, -T.infinity(T.float32))
                T.reduce_max(S, top, dim=1, clear=False)
                for i in T.Parallel(bm):
                    top[i] = T.max(top[i], top_prev[i])
                for i in T.Parallel(bm):
                    rescale[i] = T.exp2(top_prev[i] * scale - top[i] * scale)
                for i, j in T.Parallel(bm, bn):
                    S[i, j] = T.exp2(S[i, j] * scale - top[i] * scale)
                T.reduce_sum(S, part, dim=1)
                for i in T.Parallel(bm):
                    total[i] = total[i] * rescale[i] + part[i]
                T.copy(S, P)
                for i, j in T.Parallel(bm, dim):
                    acc[i, j] *= rescale[i]
                T.copy(V[bz, by, k * bn : (k + 1) * bn, :], Vs)
                T.gemm(P, Vs, acc, policy=T.GemmWarpPolicy.FullRow)
            for i, j in T.Parallel(bm, dim):
                acc[i, j] /= total[i]
            T.copy(acc, O[bz, by, bx * bm : (bx + 1) * bm, :])

    return main


FITTING: tuple[Factory, ...] = (causal_attention,)
