"""Kernels that work row by row or element by element: reductions, scans, no product that is worth a tensor core."""

from collections.abc import Callable
from typing import Any

import tilelang.language as T

Factory = Callable[[], Any]


def layernorm() -> Any:
    rows, cols, br = 4096, 1024, 16

    @T.prim_func
    def main(
        X: T.Tensor((rows, cols), T.float16),
        weight: T.Tensor((cols,), T.float16),
        Y: T.Tensor((rows, cols), T.float16),
    ):
        with T.Kernel(rows // br, threads=128) as bx:
            xs = T.alloc_shared((br, cols), T.float16)
            x = T.alloc_fragment((br, cols), T.float32)
            square = T.alloc_fragment((br, cols), T.float32)
            w = T.alloc_fragment((cols,), T.float16)
            mean = T.alloc_fragment((br,), T.float32)
            variance = T.alloc_fragment((br,), T.float32)
            T.copy(X[bx * br, 0], xs)
            T.copy(weight, w)
            T.copy(xs, x)
            T.reduce_sum(x, mean, dim=1)
            for i, j in T.Parallel(br, cols):
                square[i, j] = (x[i, j] - mean[i] / cols) * (x[i, j] - mean[i] / cols)
            T.reduce_sum(square, variance, dim=1)
            for i, j in T.Parallel(br, cols):
                x[i, j] = (x[i, j] - mean[i] / cols) * T.rsqrt(variance[i] / cols + 1e-5) * T.cast(w[j], T.float32)
            T.copy(x, Y[bx * br, 0])

    return main


def softmax() -> Any:
    rows, cols, br, bc = 1024, 8192, 4, 2048

    @T.prim_func
    def main(X: T.Tensor((rows, cols), T.float16), Y: T.Tensor((rows, cols), T.float16)):
        with T.Kernel(rows // br, threads=128) as bx:
            x = T.alloc_fragment((br, bc), T.float16)
            lse = T.alloc_fragment((br,), T.float32)
            top = T.alloc_fragment((br,), T.float32)
            total = T.alloc_fragment((br,), T.float32)
            e = T.alloc_fragment((br, bc), T.float32)
            y = T.alloc_fragment((br, bc), T.float16)
            T.fill(lse, -T.infinity(T.float32))
            for c in T.Pipelined(T.ceildiv(cols, bc), num_stages=2):
                T.copy(X[bx * br, c * bc], x)
                T.reduce_max(x, top, dim=1, clear=True)
                for i, j in T.Parallel(br, bc):
                    e[i, j] = T.exp2(x[i, j] * 1.44269504 - top[i] * 1.44269504)
                T.reduce_sum(e, total, dim=1, clear=True)
                for i in T.Parallel(br):
                    lse[i] = top[i] * 1.44269504 + T.log2(T.exp2(lse[i] - top[i] * 1.44269504) + total[i])
            for c2 in T.Pipelined(T.ceildiv(cols, bc), num_stages=2):
                T.copy(X[bx * br, c2 * bc], x)
                for i, j in T.Parallel(br, bc):
                    y[i, j] = T.exp2(x[i, j] * 1.44269504 - lse[i])
                T.copy(y, Y[bx * br, c2 * bc])

    return main


def scan_rows() -> Any:
    rows, cols = 1024, 256

    @T.prim_func
    def main(X: T.Tensor((rows, cols), T.float32), Y: T.Tensor((rows, cols), T.float32)):
        with T.Kernel(rows // 16, threads=128) as bx:
            xs = T.alloc_shared((16, cols), T.float32)
            ys = T.alloc_shared((16, cols), T.float32)
            T.copy(X[bx * 16, 0], xs)
            T.cumsum(xs, ys, dim=1)
            T.copy(ys, Y[bx * 16, 0])

    return main


def elementwise() -> Any:
    rows, cols = 1024, 1024

    @T.prim_func
    def main(X: T.Tensor((rows, cols), T.float32), Z: T.Tensor((rows, cols), T.float32)):
        with T.Kernel(cols // 128, rows // 32, threads=128) as (bx, by):
            for i, j in T.Parallel(32, 128):
                Z[by * 32 + i, bx * 128 + j] = X[by * 32 + i, bx * 128 + j] * 2.0 + T.sin(X[by * 32 + i, bx * 128 + j])

    return main


def gemv() -> Any:
    n, k, bn, bk = 1024, 1024, 16, 128

    @T.prim_func
    def main(A: T.Tensor((k,), T.float16), B: T.Tensor((n, k), T.float16), C: T.Tensor((n,), T.float16)):
        with T.Kernel(n // bn, threads=128) as bx:
            a = T.alloc_shared((bk,), T.float16)
            b = T.alloc_shared((bn, bk), T.float16)
            part = T.alloc_fragment((bn, bk), T.float32)
            total = T.alloc_fragment((bn,), T.float32)
            T.clear(part)
            for ko in T.serial(k // bk):
                T.copy(A[ko * bk], a)
                T.copy(B[bx * bn, ko * bk], b)
                for i, j in T.Parallel(bn, bk):
                    part[i, j] += T.cast(a[j], T.float32) * T.cast(b[i, j], T.float32)
            T.reduce_sum(part, total, dim=1)
            T.copy(total, C[bx * bn])

    return main


def row_products() -> Any:
    rows, columns, block = 512, 64, 32

    @T.prim_func
    def main(
        out: T.Tensor((rows, columns), T.float16),
        d_out: T.Tensor((rows, columns), T.float16),
        D: T.Tensor((rows,), T.float32),
    ):
        with T.Kernel(rows // block) as bx:  # TileLang's own 128 threads
            o = T.alloc_fragment((block, block), T.float16)
            do = T.alloc_fragment((block, block), T.float16)
            acc = T.alloc_fragment((block, block), T.float32)
            delta = T.alloc_fragment((block,), T.float32)
            T.clear(acc)
            for k in range(columns // block):
                T.copy(out[bx * block, k * block], o)
                T.copy(d_out[bx * block, k * block], do)
                for i, j in T.Parallel(block, block):
                    acc[i, j] += o[i, j] * do[i, j]
            T.reduce_sum(acc, delta, 1)
            T.copy(delta, D[bx * block : (bx + 1) * block])

    return main


FITTING: tuple[Factory, ...] = (
    row_products,
    layernorm,
    softmax,
    scan_rows,
    elementwise,
    gemv,
)
