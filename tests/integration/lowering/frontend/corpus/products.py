"""Products of matrices in one loop, one at a time: what their operands look like and how they come."""

from collections.abc import Callable
from typing import Any

import tilelang.language as T

Factory = Callable[[], Any]


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


def products_in_pairs() -> Any:
    m, n, k = 512, 512, 1024

    @T.prim_func
    def main(A: T.Tensor((m, k), T.bfloat16), B: T.Tensor((n, k), T.bfloat16), C: T.Tensor((m, n), T.float32)):
        with T.Kernel(n // 128, m // 128, threads=128) as (bx, by):
            As = T.alloc_shared((128, 64), T.bfloat16)
            Bs = T.alloc_shared((128, 64), T.bfloat16)
            At = T.alloc_shared((128, 64), T.bfloat16)
            Bt = T.alloc_shared((128, 64), T.bfloat16)
            acc = T.alloc_fragment((128, 128), T.float32)
            T.clear(acc)
            for ko in T.Pipelined(k // 128, num_stages=2):
                T.copy(A[by * 128, ko * 128], As)
                T.copy(B[bx * 128, ko * 128], Bs)
                T.copy(A[by * 128, ko * 128 + 64], At)
                T.copy(B[bx * 128, ko * 128 + 64], Bt)
                T.wgmma_gemm(As, Bs, acc, transpose_B=True)
                T.wgmma_gemm(At, Bt, acc, transpose_B=True)
                T.wait_wgmma(1)
                T.wait_wgmma(0)
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


FITTING: tuple[Factory, ...] = (
    split_k_gemm,
    dequant_gemm,
    convolution,
    one_trip,
    grouped_gemm,
    guarded_copies,
    cp_async_gemm,
    asynchronous_wgmma,
    products_in_pairs,
    promoted_fp8,
    odd_rows,
)
