"""Loops around, beside and behind one another: persistence, nests, rings turned by hand, buffers that several loops use."""

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


def counted_while() -> Any:
    m, n, k, bm, bn, bk = 256, 256, 1024, 128, 128, 64

    @T.prim_func
    def main(A: T.Tensor((m, k), T.float16), B: T.Tensor((k, n), T.float16), C: T.Tensor((m, n), T.float32)):
        with T.Kernel(n // bn, m // bm, threads=256) as (bx, by):
            As = T.alloc_shared((bm, bk), T.float16)
            Bs = T.alloc_shared((bk, bn), T.float16)
            acc = T.alloc_fragment((bm, bn), T.float32)
            left = T.alloc_local((1,), "int32")
            at = T.alloc_local((1,), "int32")
            left[0] = k // bk
            at[0] = 0
            T.clear(acc)
            while left[0] > 0:
                T.copy(A[by * bm, at[0]], As)
                T.copy(B[at[0], bx * bn], Bs)
                T.gemm(As, Bs, acc)
                left[0] = left[0] - 1
                at[0] = at[0] + bk
            T.copy(acc, C[by * bm, bx * bn])

    return main


def loop_by_choice() -> Any:
    m, n, k, bm, bn, bk = 256, 256, 1024, 128, 128, 64

    @T.prim_func
    def main(A: T.Tensor((m, k), T.float16), B: T.Tensor((k, n), T.float16), C: T.Tensor((m, n), T.float32)):
        with T.Kernel(n // bn, m // bm, threads=256) as (bx, by):
            As = T.alloc_shared((bm, bk), T.float16)
            Bs = T.alloc_shared((bk, bn), T.float16)
            acc = T.alloc_fragment((bm, bn), T.float32)
            on = T.alloc_var("int32", init=0)
            T.clear(acc)
            on = bx + by
            if on > 0:
                for ko in T.Pipelined(k // bk, num_stages=2):
                    T.copy(A[by * bm, ko * bk], As)
                    T.copy(B[ko * bk, bx * bn], Bs)
                    T.gemm(As, Bs, acc)
            T.copy(acc, C[by * bm, bx * bn])

    return main


def stream_k() -> Any:
    m, n, k, bm, bn, bk, workers = 512, 512, 1024, 128, 128, 64, 12
    tiles, steps = 4, k // bk
    share = tiles * steps // workers

    @T.prim_func
    def main(A: T.Tensor((m, k), T.float16), B: T.Tensor((n, k), T.float16), C: T.Tensor((m, n), T.float32)):
        with T.Kernel(workers, threads=256) as worker:
            As = T.alloc_shared((bm, bk), T.float16)
            Bs = T.alloc_shared((bn, bk), T.float16)
            acc = T.alloc_fragment((bm, bn), T.float32)
            start = T.alloc_local((1,), "int32")
            last = T.alloc_local((1,), "int32")
            end = T.alloc_local((1,), "int32")
            start[0] = worker * share
            last[0] = (worker + 1) * share
            while start[0] < last[0]:
                end[0] = T.min(start[0] + (steps - start[0] % steps), last[0])
                T.clear(acc)
                for ko in T.Pipelined(end[0] - start[0], num_stages=2):
                    T.copy(A[(start[0] // steps) // (n // bn) * bm, (ko + start[0] % steps) * bk], As)
                    T.copy(B[(start[0] // steps) % (n // bn) * bn, (ko + start[0] % steps) * bk], Bs)
                    T.gemm(As, Bs, acc, transpose_B=True)
                T.copy(acc, C[(start[0] // steps) // (n // bn) * bm, (start[0] // steps) % (n // bn) * bn])
                start[0] = end[0]

    return main


def staged_twice() -> Any:
    m, n, k, bm, bn, bk, workers = 512, 256, 256, 128, 128, 64, 4

    @T.prim_func
    def main(
        A: T.Tensor((m, k), T.float16),
        B: T.Tensor((k, n), T.float16),
        C: T.Tensor((m, n), T.float16),
        D: T.Tensor((m, n), T.float16),
    ):
        with T.Kernel(workers, threads=256) as worker:
            As = T.alloc_shared((bm, bk), T.float16)
            Bs = T.alloc_shared((bk, bn), T.float16)
            Cs = T.alloc_shared((bm, bn), T.float16)
            acc = T.alloc_fragment((bm, bn), T.float32)
            for wave in T.serial((m // bm) * (n // bn) // workers):
                T.clear(acc)
                for ko in T.Pipelined(k // bk, num_stages=2):
                    T.copy(A[((wave * workers + worker) // (n // bn)) * bm, ko * bk], As)
                    T.copy(B[ko * bk, ((wave * workers + worker) % (n // bn)) * bn], Bs)
                    T.gemm(As, Bs, acc)
                T.copy(acc, Cs)
                T.copy(
                    Cs, C[((wave * workers + worker) // (n // bn)) * bm, ((wave * workers + worker) % (n // bn)) * bn]
                )
                for i, j in T.Parallel(bm, bn):
                    acc[i, j] = T.max(acc[i, j], 0)
                T.copy(acc, Cs)
                T.copy(
                    Cs, D[((wave * workers + worker) // (n // bn)) * bm, ((wave * workers + worker) % (n // bn)) * bn]
                )

    return main


FITTING: tuple[Factory, ...] = (
    counted_while,
    loop_by_choice,
    stream_k,
    staged_twice,
    persistent_gemm,
    persistent_for,
    two_loops,
    early_small_load,
    unrolled_stages,
    ring_by_hand,
    late_start,
    loads_around_loop,
    last_tile_again,
    filled_twice,
)
