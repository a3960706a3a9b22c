"""Kernels that the comparison runs on: small ones of every structure that a schedule can meet. Runs in child processes only."""

from collections.abc import Callable
from typing import Any

import tilelang.language as T

__all__ = ["KERNELS"]


def gemm() -> Any:
    """A loop of two loads and a product, an epilogue through shared memory."""

    @T.prim_func
    def main(
        A: T.Tensor((512, 512), T.bfloat16), B: T.Tensor((512, 512), T.bfloat16), C: T.Tensor((512, 512), T.bfloat16)
    ):
        with T.Kernel(4, 4, threads=128) as (bx, by):
            As = T.alloc_shared((128, 64), T.bfloat16)
            Bs = T.alloc_shared((128, 64), T.bfloat16)
            Cs = T.alloc_shared((128, 128), T.bfloat16)
            acc = T.alloc_fragment((128, 128), T.float32)
            T.clear(acc)
            for k in T.Pipelined(8, num_stages=3):
                T.copy(A[by * 128, k * 64], As)
                T.copy(B[bx * 128, k * 64], Bs)
                T.gemm(As, Bs, acc, transpose_B=True)
            T.copy(acc, Cs)
            T.copy(Cs, C[by * 128, bx * 128])

    return main


def two_products() -> Any:
    """A load before the loop, two products with scalar work between them: the shape of attention."""

    @T.prim_func
    def main(
        Q: T.Tensor((512, 64), T.float16),
        K: T.Tensor((512, 64), T.float16),
        V: T.Tensor((512, 64), T.float16),
        O: T.Tensor((512, 64), T.float32),  # noqa: E741
    ):
        with T.Kernel(4, threads=128) as bx:
            Qs = T.alloc_shared((128, 64), T.float16)
            Ks = T.alloc_shared((64, 64), T.float16)
            Vs = T.alloc_shared((64, 64), T.float16)
            S = T.alloc_fragment((128, 64), T.float32)
            P = T.alloc_fragment((128, 64), T.float16)
            acc = T.alloc_fragment((128, 64), T.float32)
            T.copy(Q[bx * 128, 0], Qs)
            T.clear(acc)
            for k in T.Pipelined(8, num_stages=2):
                T.copy(K[k * 64, 0], Ks)
                T.clear(S)
                T.gemm(Qs, Ks, S, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
                for i, j in T.Parallel(128, 64):
                    S[i, j] = T.exp2(S[i, j])
                T.copy(S, P)
                T.copy(V[k * 64, 0], Vs)
                T.gemm(P, Vs, acc, policy=T.GemmWarpPolicy.FullRow)
            T.copy(acc, O[bx * 128, 0])

    return main


def persistent() -> Any:
    """A loop in a loop, with a bound scalar and a guard around the tile."""

    @T.prim_func
    def main(
        A: T.Tensor((512, 256), T.bfloat16), B: T.Tensor((512, 256), T.bfloat16), C: T.Tensor((512, 512), T.bfloat16)
    ):
        with T.Kernel(6, threads=128) as worker:
            As = T.alloc_shared((128, 64), T.bfloat16)
            Bs = T.alloc_shared((128, 64), T.bfloat16)
            Cs = T.alloc_shared((128, 128), T.bfloat16)
            acc = T.alloc_fragment((128, 128), T.float32)
            for wave in T.serial(3):
                tile = wave * 6 + worker
                if tile < 16:
                    T.clear(acc)
                    for k in T.Pipelined(4, num_stages=2):
                        T.copy(A[tile // 4 * 128, k * 64], As)
                        T.copy(B[tile % 4 * 128, k * 64], Bs)
                        T.gemm(As, Bs, acc, transpose_B=True)
                    T.copy(acc, Cs)
                    T.copy(Cs, C[tile // 4 * 128, tile % 4 * 128])

    return main


def scheduler() -> Any:
    """A ``while`` loop over thread-private variables."""

    @T.prim_func
    def main(X: T.Tensor((2048, 64), T.float16), Y: T.Tensor((2048, 64), T.float16)):
        with T.Kernel(4, threads=128) as worker:
            xs = T.alloc_shared((64, 64), T.float16)
            ys = T.alloc_shared((64, 64), T.float16)
            y = T.alloc_fragment((64, 64), T.float16)
            at = T.alloc_var("int32")
            at = worker
            while at < 32:
                T.copy(X[at * 64, 0], xs)
                for i, j in T.Parallel(64, 64):
                    y[i, j] = xs[i, j] * T.float16(2)
                T.copy(y, ys)
                T.copy(ys, Y[at * 64, 0])
                at = at + 4

    return main


def through_registers() -> Any:
    """Loads that a thread's registers carry, a conversion on the way, cp.async, and a guarded copy."""

    @T.prim_func
    def main(
        A: T.Tensor((512, 256), T.float16),
        B: T.Tensor((512, 256), T.int8),
        bias: T.Tensor((512,), T.float32),
        C: T.Tensor((512, 512), T.float32),
    ):
        with T.Kernel(4, 4, threads=128) as (bx, by):
            As = T.alloc_shared((128, 64), T.float16)
            Bq = T.alloc_shared((128, 64), T.int8)
            Bs = T.alloc_shared((128, 64), T.float16)
            bias_s = T.alloc_shared((128,), T.float32)
            Bl = T.alloc_fragment((128, 64), T.float16)
            acc = T.alloc_fragment((128, 128), T.float32)
            T.copy(bias[bx * 128], bias_s, disable_tma=True)
            T.clear(acc)
            for k in T.Pipelined(4, num_stages=2):
                T.copy(A[by * 128, k * 64], As, prefer_instruction="cp_async")
                if k < 3:
                    T.copy(B[bx * 128, k * 64], Bq)
                for i, j in T.Parallel(128, 64):
                    Bl[i, j] = T.cast(Bq[i, j], T.float16)
                T.copy(Bl, Bs)
                T.gemm(As, Bs, acc, transpose_B=True)
            for i, j in T.Parallel(128, 128):
                acc[i, j] += bias_s[j]
            T.copy(acc, C[by * 128, bx * 128])

    return main


def straight_line() -> Any:
    """No loop at all: everything in the root scope."""

    @T.prim_func
    def main(X: T.Tensor((1024, 128), T.float16), W: T.Tensor((128,), T.float16), Y: T.Tensor((1024, 128), T.float16)):
        with T.Kernel(16, threads=128) as bx:
            xs = T.alloc_shared((64, 128), T.float16)
            ws = T.alloc_shared((128,), T.float16)
            ys = T.alloc_shared((64, 128), T.float16)
            y = T.alloc_fragment((64, 128), T.float16)
            T.copy(X[bx * 64, 0], xs)
            T.copy(W, ws)
            for i, j in T.Parallel(64, 128):
                y[i, j] = xs[i, j] * ws[j]
            T.copy(y, ys)
            T.copy(ys, Y[bx * 64, 0])

    return main


KERNELS: dict[str, Callable[[], Any]] = {
    factory.__name__: factory
    for factory in (gemm, two_products, persistent, scheduler, through_registers, straight_line)
}
