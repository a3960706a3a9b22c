"""Kernels of many shapes for the frontend: what people write beyond the two examples. Runs in child processes only.

Every factory returns a plain ``@T.prim_func``. ``FITTING`` are kernels a warp schedule can express, ``NOT_FITTING`` maps a
factory to the code of its refusal.
"""

from collections.abc import Callable
from typing import Any

import tilelang
import tilelang.language as T

Factory = Callable[[], Any]


def persistent_gemm() -> Any:
    m, n, k, bm, bn, bk = 1024, 1024, 512, 128, 128, 64

    @T.prim_func
    def main(
        A: T.Tensor((m, k), T.bfloat16),
        B: T.Tensor((n, k), T.bfloat16),
        C: T.Tensor((m, n), T.bfloat16),
    ):
        with T.Kernel(132, threads=256) as worker:
            As = T.alloc_shared((bm, bk), T.bfloat16)
            Bs = T.alloc_shared((bn, bk), T.bfloat16)
            Cs = T.alloc_shared((bm, bn), T.bfloat16)
            acc = T.alloc_fragment((bm, bn), T.float32)
            sched = T.PersistentTileScheduler(T.ceildiv(m, bm), T.ceildiv(n, bn), num_workers=132, swizzle_size=8)
            sched.init(worker)
            while sched.valid():
                T.clear(acc)
                for ko in T.Pipelined(T.ceildiv(k, bk), num_stages=3):
                    T.copy(A[sched.m_idx * bm, ko * bk], As)
                    T.copy(B[sched.n_idx * bn, ko * bk], Bs)
                    T.gemm(As, Bs, acc, transpose_B=True)
                T.copy(acc, Cs)
                T.copy(Cs, C[sched.m_idx * bm, sched.n_idx * bn])
                sched.next_tile()

    return main


def persistent_for() -> Any:
    m, n, k, bm, bn, bk, workers = 1024, 1024, 512, 128, 128, 64, 60

    @T.prim_func
    def main(
        A: T.Tensor((m, k), T.float16),
        B: T.Tensor((k, n), T.float16),
        C: T.Tensor((m, n), T.float16),
    ):
        with T.Kernel(workers, threads=256) as worker:
            As = T.alloc_shared((bm, bk), T.float16)
            Bs = T.alloc_shared((bk, bn), T.float16)
            acc = T.alloc_fragment((bm, bn), T.float32)
            for wave in T.serial(T.ceildiv((m // bm) * (n // bn), workers)):
                tile = wave * workers + worker
                if tile < (m // bm) * (n // bn):
                    T.clear(acc)
                    for ko in T.Pipelined(k // bk, num_stages=2):
                        T.copy(A[(tile // (n // bn)) * bm, ko * bk], As)
                        T.copy(B[ko * bk, (tile % (n // bn)) * bn], Bs)
                        T.gemm(As, Bs, acc)
                    T.copy(acc, C[(tile // (n // bn)) * bm, (tile % (n // bn)) * bn])

    return main


def split_k_gemm() -> Any:
    m, n, k, bm, bn, bk, split = 512, 512, 4096, 128, 128, 64, 4

    @T.prim_func
    def main(
        A: T.Tensor((m, k), T.float16),
        B: T.Tensor((k, n), T.float16),
        C: T.Tensor((split, m, n), T.float32),
    ):
        with T.Kernel(n // bn, m // bm, split, threads=128) as (bx, by, bz):
            As = T.alloc_shared((bm, bk), T.float16)
            Bs = T.alloc_shared((bk, bn), T.float16)
            acc = T.alloc_fragment((bm, bn), T.float32)
            T.clear(acc)
            for ko in T.Pipelined(k // split // bk, num_stages=3):
                T.copy(A[by * bm, bz * (k // split) + ko * bk], As)
                T.copy(B[bz * (k // split) + ko * bk, bx * bn], Bs)
                T.gemm(As, Bs, acc)
            T.copy(acc, C[bz, by * bm, bx * bn])

    return main


def split_k_atomic() -> Any:
    m, n, k, bm, bn, bk, split = 512, 512, 4096, 128, 128, 64, 4

    @T.prim_func
    def main(
        A: T.Tensor((m, k), T.float16),
        B: T.Tensor((k, n), T.float16),
        C: T.Tensor((m, n), T.float32),
    ):
        with T.Kernel(n // bn, m // bm, split, threads=128) as (bx, by, bz):
            As = T.alloc_shared((bm, bk), T.float16)
            Bs = T.alloc_shared((bk, bn), T.float16)
            acc = T.alloc_fragment((bm, bn), T.float32)
            T.clear(acc)
            for ko in T.Pipelined(k // split // bk, num_stages=3):
                T.copy(A[by * bm, bz * (k // split) + ko * bk], As)
                T.copy(B[bz * (k // split) + ko * bk, bx * bn], Bs)
                T.gemm(As, Bs, acc)
            T.atomic_add(C[by * bm : (by + 1) * bm, bx * bn : (bx + 1) * bn], acc)

    return main


def dequant_gemm() -> Any:
    m, n, k, bm, bn, bk = 512, 512, 1024, 128, 128, 64

    @T.prim_func
    def main(
        A: T.Tensor((m, k), T.float16),
        B: T.Tensor((n, k), T.int8),
        scales: T.Tensor((n,), T.float16),
        C: T.Tensor((m, n), T.float16),
    ):
        with T.Kernel(n // bn, m // bm, threads=256) as (bx, by):
            As = T.alloc_shared((bm, bk), T.float16)
            Bq = T.alloc_shared((bn, bk), T.int8)
            Bs = T.alloc_shared((bn, bk), T.float16)
            scale_s = T.alloc_shared((bn,), T.float16)
            Bl = T.alloc_fragment((bn, bk), T.int8)
            Bd = T.alloc_fragment((bn, bk), T.float16)
            acc = T.alloc_fragment((bm, bn), T.float32)
            T.copy(scales[bx * bn], scale_s)
            T.clear(acc)
            for ko in T.Pipelined(k // bk, num_stages=2):
                T.copy(A[by * bm, ko * bk], As)
                T.copy(B[bx * bn, ko * bk], Bq)
                T.copy(Bq, Bl)
                for i, j in T.Parallel(bn, bk):
                    Bd[i, j] = T.cast(Bl[i, j], T.float16) * scale_s[i]
                T.copy(Bd, Bs)
                T.gemm(As, Bs, acc, transpose_B=True)
            T.copy(acc, C[by * bm, bx * bn])

    return main


def two_loops() -> Any:
    m, n, k, bm, bn, bk = 512, 512, 1024, 128, 128, 64

    @T.prim_func
    def main(
        A: T.Tensor((m, k), T.bfloat16),
        B: T.Tensor((k, n), T.bfloat16),
        D: T.Tensor((k, n), T.bfloat16),
        C: T.Tensor((m, n), T.float32),
    ):
        with T.Kernel(n // bn, m // bm, threads=256) as (bx, by):
            As = T.alloc_shared((bm, bk), T.bfloat16)
            Bs = T.alloc_shared((bk, bn), T.bfloat16)
            acc = T.alloc_fragment((bm, bn), T.float32)
            T.clear(acc)
            for k0 in T.Pipelined(k // bk, num_stages=2):
                T.copy(A[by * bm, k0 * bk], As)
                T.copy(B[k0 * bk, bx * bn], Bs)
                T.gemm(As, Bs, acc)
            for k1 in T.Pipelined(k // bk, num_stages=4):
                T.copy(A[by * bm, k1 * bk], As)
                T.copy(D[k1 * bk, bx * bn], Bs)
                T.gemm(As, Bs, acc)
            T.copy(acc, C[by * bm, bx * bn])

    return main


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


def convolution() -> Any:
    batch, height, width, channels, features, kernel = 8, 32, 32, 64, 128, 3
    bm, bn, bk = 64, 128, 32
    out_h, out_w = height - kernel + 1, width - kernel + 1

    @T.prim_func
    def main(
        data: T.Tensor((batch, height, width, channels), T.float16),
        weight: T.Tensor((kernel, kernel, channels, features), T.float16),
        out: T.Tensor((batch, out_h, out_w, features), T.float16),
    ):
        with T.Kernel(T.ceildiv(features, bn), T.ceildiv(batch * out_h * out_w, bm), threads=128) as (bx, by):
            ds = T.alloc_shared((bm, bk), T.float16)
            ws = T.alloc_shared((bk, bn), T.float16)
            acc = T.alloc_fragment((bm, bn), T.float32)
            os = T.alloc_shared((bm, bn), T.float16)
            flat_w = T.Tensor((kernel * kernel * channels, features), T.float16, weight.data)
            flat_o = T.Tensor((batch * out_h * out_w, features), T.float16, out.data)
            T.clear(acc)
            for k in T.Pipelined(T.ceildiv(kernel * kernel * channels, bk), num_stages=2):
                for i, j in T.Parallel(bm, bk):
                    ds[i, j] = T.if_then_else(
                        (by * bm + i) < batch * out_h * out_w,
                        data[
                            (by * bm + i) // (out_h * out_w),
                            (by * bm + i) % (out_h * out_w) // out_w + (k * bk + j) // (kernel * channels),
                            (by * bm + i) % out_w + (k * bk + j) // channels % kernel,
                            (k * bk + j) % channels,
                        ],
                        T.float16(0),
                    )
                T.copy(flat_w[k * bk, bx * bn], ws)
                T.gemm(ds, ws, acc)
            T.copy(acc, os)
            T.copy(os, flat_o[by * bm, bx * bn])

    return main


def early_small_load() -> Any:
    m, n, k, bm, bn, bk = 512, 512, 1024, 128, 128, 64

    @T.prim_func
    def main(
        A: T.Tensor((m, k), T.bfloat16),
        B: T.Tensor((k, n), T.bfloat16),
        bias: T.Tensor((n,), T.float32),
        C: T.Tensor((m, n), T.float32),
    ):
        with T.Kernel(n // bn, m // bm, threads=256) as (bx, by):
            As = T.alloc_shared((bm, bk), T.bfloat16)
            Bs = T.alloc_shared((bk, bn), T.bfloat16)
            bias_s = T.alloc_shared((bn,), T.float32)
            acc = T.alloc_fragment((bm, bn), T.float32)
            T.copy(bias[bx * bn], bias_s)
            T.clear(acc)
            for ko in T.Pipelined(k // bk, num_stages=3):
                T.copy(A[by * bm, ko * bk], As)
                T.copy(B[ko * bk, bx * bn], Bs)
                T.gemm(As, Bs, acc)
            for i, j in T.Parallel(bm, bn):
                acc[i, j] += bias_s[j]
            T.copy(acc, C[by * bm, bx * bn])

    return main


def one_trip() -> Any:
    m, n, k = 512, 512, 64

    @T.prim_func
    def main(A: T.Tensor((m, k), T.bfloat16), B: T.Tensor((k, n), T.bfloat16), C: T.Tensor((m, n), T.float32)):
        with T.Kernel(n // 128, m // 128, threads=256) as (bx, by):
            As = T.alloc_shared((128, 64), T.bfloat16)
            Bs = T.alloc_shared((64, 128), T.bfloat16)
            acc = T.alloc_fragment((128, 128), T.float32)
            T.clear(acc)
            for ko in T.Pipelined(1, num_stages=2):
                T.copy(A[by * 128, ko * 64], As)
                T.copy(B[ko * 64, bx * 128], Bs)
                T.gemm(As, Bs, acc)
            T.copy(acc, C[by * 128, bx * 128])

    return main


def symbolic_gemm() -> Any:
    m, k = T.dynamic("m, k")
    n = 1024

    @T.prim_func
    def main(A: T.Tensor((m, k), T.bfloat16), B: T.Tensor((n, k), T.bfloat16), C: T.Tensor((m, n), T.bfloat16)):
        with T.Kernel(T.ceildiv(n, 128), T.ceildiv(m, 128), threads=256) as (bx, by):
            As = T.alloc_shared((128, 64), T.bfloat16)
            Bs = T.alloc_shared((128, 64), T.bfloat16)
            acc = T.alloc_fragment((128, 128), T.float32)
            T.clear(acc)
            for ko in T.Pipelined(T.ceildiv(k, 64), num_stages=3):
                T.copy(A[by * 128, ko * 64], As)
                T.copy(B[bx * 128, ko * 64], Bs)
                T.gemm(As, Bs, acc, transpose_B=True)
            T.copy(acc, C[by * 128, bx * 128])

    return main


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


def grouped_gemm() -> Any:
    groups, m, n, k = 4, 1024, 512, 512

    @T.prim_func
    def main(
        A: T.Tensor((m, k), T.bfloat16),
        B: T.Tensor((groups, n, k), T.bfloat16),
        group_of: T.Tensor((m // 128,), T.int32),
        C: T.Tensor((m, n), T.bfloat16),
    ):
        with T.Kernel(n // 128, m // 128, threads=256) as (bx, by):
            As = T.alloc_shared((128, 64), T.bfloat16)
            Bs = T.alloc_shared((128, 64), T.bfloat16)
            acc = T.alloc_fragment((128, 128), T.float32)
            group = group_of[by]
            T.clear(acc)
            for ko in T.Pipelined(k // 64, num_stages=3):
                T.copy(A[by * 128, ko * 64], As)
                T.copy(B[group, bx * 128 : bx * 128 + 128, ko * 64 : ko * 64 + 64], Bs)
                T.gemm(As, Bs, acc, transpose_B=True)
            T.copy(acc, C[by * 128, bx * 128])

    return main


def guarded_copies() -> Any:
    m, n, k = 512, 512, 1024

    @T.prim_func
    def main(A: T.Tensor((m, k), T.bfloat16), B: T.Tensor((k, n), T.bfloat16), C: T.Tensor((m, n), T.float32)):
        with T.Kernel(n // 128, m // 128, threads=256) as (bx, by):
            As = T.alloc_shared((128, 64), T.bfloat16)
            Bs = T.alloc_shared((64, 128), T.bfloat16)
            acc = T.alloc_fragment((128, 128), T.float32)
            T.annotate_min_blocks_per_sm(1)
            T.clear(acc)
            for ko in T.Pipelined(k // 64, num_stages=2):
                if ko * 64 < by * 128 + 128:
                    T.copy(A[by * 128, ko * 64], As)
                T.copy(B[ko * 64, bx * 128], Bs)
                if ko >= 1:
                    T.gemm(As, Bs, acc)
            if bx > 0:
                T.copy(acc, C[by * 128, bx * 128])

    return main


def cp_async_gemm() -> Any:
    m, n, k = 512, 512, 1024

    @T.prim_func
    def main(A: T.Tensor((m, k), T.bfloat16), B: T.Tensor((k, n), T.bfloat16), C: T.Tensor((m, n), T.float32)):
        with T.Kernel(n // 128, m // 128, threads=256) as (bx, by):
            As = T.alloc_shared((128, 64), T.bfloat16)
            Bs = T.alloc_shared((64, 128), T.bfloat16)
            acc = T.alloc_fragment((128, 128), T.float32)
            T.clear(acc)
            for ko in T.Pipelined(k // 64, num_stages=3):
                T.copy(A[by * 128, ko * 64], As, prefer_instruction="cp_async")
                T.copy(B[ko * 64, bx * 128], Bs, disable_tma=True)
                T.gemm(As, Bs, acc)
            T.copy(acc, C[by * 128, bx * 128])

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


def unrolled_stages() -> Any:
    m, n, k = 512, 512, 1024

    @T.prim_func
    def main(A: T.Tensor((m, k), T.bfloat16), B: T.Tensor((k, n), T.bfloat16), C: T.Tensor((m, n), T.float32)):
        with T.Kernel(n // 128, m // 128, threads=256) as (bx, by):
            As = T.alloc_shared((2, 128, 64), T.bfloat16)
            Bs = T.alloc_shared((2, 64, 128), T.bfloat16)
            acc = T.alloc_fragment((128, 128), T.float32)
            T.clear(acc)
            for ko in T.serial(k // 128):
                for u in T.unroll(2):
                    T.copy(A[by * 128 : by * 128 + 128, ko * 128 + u * 64 : ko * 128 + u * 64 + 64], As[u, :, :])
                    T.copy(B[ko * 128 + u * 64 : ko * 128 + u * 64 + 64, bx * 128 : bx * 128 + 128], Bs[u, :, :])
                    T.gemm(As[u, :, :], Bs[u, :, :], acc)
            T.copy(acc, C[by * 128, bx * 128])

    return main


def else_branch() -> Any:
    @T.prim_func
    def main(X: T.Tensor((128, 128), T.float32)):
        with T.Kernel(1, threads=128) as bx:
            xs = T.alloc_shared((128, 128), T.float32)
            if bx > 0:
                T.copy(X, xs)
            else:
                T.clear(xs)
            T.copy(xs, X)

    return main


def hand_barrier() -> Any:
    @T.prim_func
    def main(X: T.Tensor((128, 128), T.float32)):
        with T.Kernel(1, threads=128):
            xs = T.alloc_shared((128, 128), T.float32)
            full = T.alloc_barrier(1)
            T.copy(X, xs)
            T.barrier_arrive(full[0])
            T.barrier_wait(full[0], 0)
            T.copy(xs, X)

    return main


def two_d_threads() -> Any:
    @T.prim_func
    def main(X: T.Tensor((128, 128), T.float32)):
        with T.Kernel(1, threads=(32, 4)):
            xs = T.alloc_shared((128, 128), T.float32)
            T.copy(X, xs)
            T.copy(xs, X)

    return main


def data_dependent_loop() -> Any:
    @T.prim_func
    def main(X: T.Tensor((128, 128), T.float32), lengths: T.Tensor((16,), T.int32)):
        with T.Kernel(16, threads=128) as bx:
            xs = T.alloc_shared((128, 128), T.float32)
            for _k in T.serial(lengths[bx]):
                T.copy(X, xs)
                T.copy(xs, X)

    return main


def synchronised() -> Any:
    @T.prim_func
    def main(X: T.Tensor((128, 128), T.float32)):
        with T.Kernel(1, threads=128):
            xs = T.alloc_shared((128, 128), T.float32)
            T.copy(X, xs)
            T.sync_threads()
            T.copy(xs, X)

    return main


def extern_call() -> Any:
    @T.prim_func
    def main(X: T.Tensor((128,), T.float32)):
        with T.Kernel(1, threads=128):
            T.call_extern("handle", "system", 1)

    return main


def printing() -> Any:
    @T.prim_func
    def main(X: T.Tensor((128,), T.float32)):
        with T.Kernel(1, threads=128):
            x = T.alloc_fragment((128,), T.float32)
            T.copy(X, x)
            T.print(x, msg="x")
            T.copy(x, X)

    return main


def two_kernels() -> Any:
    @T.prim_func
    def main(X: T.Tensor((128, 128), T.float32)):
        with T.Kernel(1, threads=128):
            xs = T.alloc_shared((128, 128), T.float32)
            T.copy(X, xs)
            T.copy(xs, X)
        with T.Kernel(1, threads=128):
            ys = T.alloc_shared((128, 128), T.float32)
            T.copy(X, ys)
            T.copy(ys, X)

    return main


def hand_specialised() -> Any:
    @T.prim_func
    def main(X: T.Tensor((128, 128), T.float32)):
        with T.Kernel(1, threads=256):
            xs = T.alloc_shared((128, 128), T.float32)
            with T.ws(0):
                T.copy(X, xs)
            with T.ws(1):
                T.copy(xs, X)

    return main


def named_statements() -> Any:
    m, n, k = 512, 512, 1024

    @T.prim_func
    def main(A: T.Tensor((m, k), T.bfloat16), B: T.Tensor((k, n), T.bfloat16), C: T.Tensor((m, n), T.float32)):
        with T.Kernel(n // 128, m // 128, threads=256) as (bx, by):
            As = T.alloc_shared((128, 64), T.bfloat16)
            Bs = T.alloc_shared((64, 128), T.bfloat16)
            acc = T.alloc_fragment((128, 128), T.float32)
            T.clear(acc, annotations={T.WSID: "copy_As"})
            for ko in T.Pipelined(k // 64, num_stages=3, annotations={T.WSID: "main_loop"}):
                T.copy(A[by * 128, ko * 64], As)
                with T.ws_op("second"):
                    offset: T.int32 = ko * 64
                T.copy(B[offset, bx * 128], Bs, annotations={T.WSID: "b"})
                T.gemm(As, Bs, acc)
            T.copy(acc, C[by * 128, bx * 128])

    return main


def local_variables() -> Any:
    @T.prim_func
    def main(X: T.Tensor((1024, 128), T.float32), Y: T.Tensor((1024, 128), T.float32)):
        with T.Kernel(4, threads=128) as bx:
            xs = T.alloc_shared((64, 128), T.float32)
            ys = T.alloc_fragment((64, 128), T.float32)
            seen = T.alloc_var("int32", init=0)
            for i in T.serial(4):
                seen = seen + 1
                T.copy(X[(bx * 4 + i) * 64, 0], xs)
                for r, c in T.Parallel(64, 128):
                    ys[r, c] = xs[r, c] * T.cast(seen, "float32")
                T.copy(ys, Y[(bx * 4 + i) * 64, 0])

    return main


def asynchronous_wgmma() -> Any:
    m, n, k = 512, 512, 1024

    @T.prim_func
    def main(A: T.Tensor((m, k), T.bfloat16), B: T.Tensor((n, k), T.bfloat16), C: T.Tensor((m, n), T.float32)):
        with T.Kernel(n // 128, m // 128, threads=128) as (bx, by):
            As = T.alloc_shared((128, 64), T.bfloat16)
            Bs = T.alloc_shared((128, 64), T.bfloat16)
            acc = T.alloc_fragment((128, 128), T.float32)
            T.clear(acc)
            for ko in T.Pipelined(k // 64, num_stages=3):
                T.copy(A[by * 128, ko * 64], As)
                T.copy(B[bx * 128, ko * 64], Bs)
                T.wgmma_gemm(As, Bs, acc, transpose_B=True)
                T.wait_wgmma(0)
            T.copy(acc, C[by * 128, bx * 128])

    return main


def annotated_layouts() -> Any:
    @T.prim_func
    def main(X: T.Tensor((1024, 128), T.float16), Y: T.Tensor((1024, 128), T.float16)):
        with T.Kernel(16, threads=128) as bx:
            xs = T.alloc_shared((64, 128), T.float16)
            T.annotate_layout({xs: T.Layout((64, 128), lambda i, j: [i, (j + 8 * i) % 128])})
            T.annotate_safe_value({X: 0.0})
            T.annotate_restrict_buffers(X, Y)
            T.copy(X[bx * 64, 0], xs, coalesced_width=8)
            T.copy(xs, Y[bx * 64, 0], coalesced_width=8)

    return main


def shared_view() -> Any:
    @T.prim_func
    def main(X: T.Tensor((1024, 128), T.float16), Y: T.Tensor((1024, 128), T.float16)):
        with T.Kernel(16, threads=128) as bx:
            xs = T.alloc_shared((64, 128), T.float16)
            flat = T.reshape(xs, (128, 64))
            out = T.alloc_fragment((64, 128), T.float16)
            T.copy(X[bx * 64, 0], xs)
            for i, j in T.Parallel(64, 128):
                out[i, j] = flat[i * 2 + j // 64, j % 64] + T.float16(1)
            T.copy(out, Y[bx * 64, 0])

    return main


def ring_by_hand() -> Any:
    m, n, k = 512, 512, 1024

    @T.prim_func
    def main(A: T.Tensor((m, k), T.bfloat16), B: T.Tensor((k, n), T.bfloat16), C: T.Tensor((m, n), T.float32)):
        with T.Kernel(n // 128, m // 128, threads=256) as (bx, by):
            As = T.alloc_shared((2, 128, 64), T.bfloat16)
            Bs = T.alloc_shared((64, 128), T.bfloat16)
            acc = T.alloc_fragment((128, 128), T.float32)
            T.clear(acc)
            T.copy(A[by * 128 : by * 128 + 128, 0:64], As[0, :, :])
            for ko in T.serial(k // 64 - 1):
                T.copy(
                    A[by * 128 : by * 128 + 128, ko * 64 + 64 : ko * 64 + 128],
                    As[(ko + 1) % 2, 0:128, 0:64],
                )
                T.copy(B[ko * 64, bx * 128], Bs)
                T.gemm(As[ko % 2, 0:128, 0:64], Bs, acc)
            T.copy(acc, C[by * 128, bx * 128])

    return main


def scalar_argument() -> Any:
    rows, cols = 1024, 128

    @T.prim_func
    def main(X: T.Tensor((rows, cols), T.float32), count: T.int32, Y: T.Tensor((rows, cols), T.float32)):
        with T.Kernel(rows // 64, threads=128) as bx:
            xs = T.alloc_shared((64, cols), T.float32)
            if bx * 64 < count:
                for _i in T.serial(count):
                    T.copy(X[bx * 64, 0], xs)
                    T.copy(xs, Y[bx * 64, 0])

    return main


def late_start() -> Any:
    m, n, k = 512, 512, 1024

    @T.prim_func
    def main(A: T.Tensor((m, k), T.float16), B: T.Tensor((k, n), T.float16), C: T.Tensor((m, n), T.float32)):
        with T.Kernel(n // 128, m // 128, threads=128) as (bx, by):
            As = T.alloc_shared((128, 64), T.float16)
            Bs = T.alloc_shared((64, 128), T.float16)
            acc = T.alloc_fragment((128, 128), T.float32)
            lowest = T.alloc_fragment((128,), T.float32)
            T.annotate_layout({As: tilelang.layout.make_swizzled_layout(As)})
            T.fill(lowest, -T.infinity("float"))
            T.clear(acc)
            for ko in T.Pipelined(T.floordiv(by * 128, 64), k // 64, num_stages=2):
                T.copy(A[by * 128, ko * 64], As)
                T.copy(B[ko * 64, bx * 128], Bs)
                T.gemm(As, Bs, acc, clear_accum=ko == 0)
                T.reduce_max(acc, lowest, dim=1, clear=False)
            for i, j in T.Parallel(128, 128):
                acc[i, j] -= lowest[i]
            T.copy(acc, C[by * 128, bx * 128])

    return main


def promoted_fp8() -> Any:
    m, n, k = 512, 512, 1024

    @T.prim_func
    def main(
        A: T.Tensor((m, k), T.float8_e4m3fn),
        B: T.Tensor((n, k), T.float8_e4m3fn),
        used: T.Tensor((8,), "bool"),
        C: T.Tensor((m, n), T.float32),
    ):
        with T.Kernel(n // 128, m // 128, threads=128) as (bx, by):
            As = T.alloc_shared((128, 64), T.float8_e4m3fn)
            Bs = T.alloc_shared((128, 64), T.float8_e4m3fn)
            part = T.alloc_fragment((128, 128), T.float32)
            total = T.alloc_fragment((128, 128), T.float32)
            T.clear(part)
            T.clear(total)
            for ko in T.Pipelined(k // 64, num_stages=3):
                if used[ko // 2]:
                    T.copy(A[by * 128, ko * 64], As)
                    T.copy(B[bx * 128, ko * 64], Bs)
                    T.gemm(As, Bs, part, transpose_B=True)
                if (ko + 1) % 2 == 0:
                    for i, j in T.Parallel(128, 128):
                        total[i, j] += part[i, j]
                    T.clear(part)
            T.copy(total, C[by * 128, bx * 128])

    return main


def loads_around_loop() -> Any:
    m, n, k = 512, 512, 1024

    @T.prim_func
    def main(
        A: T.Tensor((m, k), T.float16),
        B: T.Tensor((k, n), T.float16),
        before: T.Tensor((m, n), T.float16),
        after: T.Tensor((m, n), T.float16),
        C: T.Tensor((m, n), T.float32),
    ):
        with T.Kernel(n // 128, m // 128, threads=256) as (bx, by):
            As = T.alloc_shared((128, 64), T.float16)
            Bs = T.alloc_shared((64, 128), T.float16)
            first = T.alloc_shared((128, 128), T.float16)
            last = T.alloc_shared((128, 128), T.float16)
            acc = T.alloc_fragment((128, 128), T.float32)
            T.copy(before[by * 128, bx * 128], first)
            T.copy(first, acc)
            for ko in T.Pipelined(k // 64, num_stages=3):
                T.copy(A[by * 128, ko * 64], As)
                T.copy(B[ko * 64, bx * 128], Bs)
                T.gemm(As, Bs, acc)
            T.copy(after[by * 128, bx * 128], last)
            for i, j in T.Parallel(128, 128):
                acc[i, j] += last[i, j]
            T.copy(acc, C[by * 128, bx * 128])

    return main


def last_tile_again() -> Any:
    m, n, k = 512, 512, 1024

    @T.prim_func
    def main(A: T.Tensor((m, k), T.bfloat16), B: T.Tensor((k, n), T.bfloat16), C: T.Tensor((4, m, n), T.float32)):
        with T.Kernel(n // 128, m // 128, threads=128) as (bx, by):
            As = T.alloc_shared((128, 64), T.bfloat16)
            Bs = T.alloc_shared((64, 128), T.bfloat16)
            acc = T.alloc_fragment((128, 128), T.float32)
            for part in T.serial(4):
                T.clear(acc)
                for ko in T.Pipelined(k // 256, num_stages=2):
                    T.copy(A[by * 128, part * 256 + ko * 64], As)
                    T.copy(B[part * 256 + ko * 64, bx * 128], Bs)
                    T.gemm(As, Bs, acc)
                for i, j in T.Parallel(128, 128):
                    acc[i, j] += As[i, j // 2] * Bs[i // 2, j]
                T.copy(acc, C[part, by * 128, bx * 128])

    return main


def filled_twice() -> Any:
    m, n, k = 512, 512, 1024

    @T.prim_func
    def main(A: T.Tensor((m, k), T.bfloat16), B: T.Tensor((k, n), T.bfloat16), C: T.Tensor((m, n), T.float32)):
        with T.Kernel(n // 128, m // 128, threads=128) as (bx, by):
            As = T.alloc_shared((128, 64), T.bfloat16)
            Bs = T.alloc_shared((64, 128), T.bfloat16)
            acc = T.alloc_fragment((128, 128), T.float32)
            T.clear(acc)
            for ko in T.Pipelined(k // 128, num_stages=2):
                T.copy(A[by * 128, ko * 128], As)
                T.copy(B[ko * 128, bx * 128], Bs)
                T.gemm(As, Bs, acc)
                T.copy(A[by * 128, ko * 128 + 64], As)
                T.copy(B[ko * 128 + 64, bx * 128], Bs)
                T.gemm(As, Bs, acc)
            T.copy(acc, C[by * 128, bx * 128])

    return main


def odd_rows() -> Any:
    rows, cols, used = 1024, 128, 126

    @T.prim_func
    def main(
        X: T.Tensor((rows, cols), T.float16), weight: T.Tensor((1024,), T.float32), Y: T.Tensor((rows, cols), T.float16)
    ):
        with T.Kernel(rows // 64, threads=128) as bx:
            xs = T.alloc_shared((64, cols), T.float16)
            narrow = T.alloc_shared((64, used), T.float16)
            weights = T.alloc_shared((62,), T.float32)
            whole = T.alloc_shared((64,), T.float32)
            out = T.alloc_fragment((64, cols), T.float16)
            T.copy(X[bx * 64, 0], xs)
            T.copy(X[bx * 64 : bx * 64 + 64, 0:used], narrow)
            T.copy(weight[bx * 62 : bx * 62 + 62], weights)
            T.copy(weight[bx * 64 : bx * 64 + 64], whole)
            for i, j in T.Parallel(64, cols):
                out[i, j] = xs[i, j] + narrow[i, j % used] * T.cast(weights[i % 62] * whole[i], T.float16)
            T.copy(out, Y[bx * 64, 0])

    return main


def thread_index() -> Any:
    @T.prim_func
    def main(X: T.Tensor((128,), T.float32), Y: T.Tensor((128,), T.float32)):
        with T.Kernel(1, threads=128):
            tx = T.get_thread_binding(0)
            Y[tx] = X[tx] + T.float32(1)

    return main


FITTING: tuple[Factory, ...] = (
    persistent_gemm,
    persistent_for,
    split_k_gemm,
    dequant_gemm,
    two_loops,
    layernorm,
    softmax,
    convolution,
    early_small_load,
    one_trip,
    symbolic_gemm,
    causal_attention,
    grouped_gemm,
    guarded_copies,
    cp_async_gemm,
    scan_rows,
    elementwise,
    gemv,
    unrolled_stages,
    named_statements,
    local_variables,
    asynchronous_wgmma,
    annotated_layouts,
    shared_view,
    ring_by_hand,
    scalar_argument,
    late_start,
    promoted_fp8,
    loads_around_loop,
    last_tile_again,
    filled_twice,
    odd_rows,
)

NOT_FITTING: dict[Factory, str] = {
    split_k_atomic: "atomic-operation",
    else_branch: "else-branch",
    hand_barrier: "hand-written-barrier",
    two_d_threads: "threads-not-one-dimensional",
    data_dependent_loop: "dynamic-scope",
    synchronised: "hand-written-synchronisation",
    extern_call: "foreign-call",
    printing: "foreign-call",
    two_kernels: "several-kernels",
    hand_specialised: "already-specialised",
    thread_index: "thread-index-used",
}
