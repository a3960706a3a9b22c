"""Kernels that no schedule can express, each with the code of its refusal."""

from collections.abc import Callable
from typing import Any

import tilelang.language as T

Factory = Callable[[], Any]


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


def thread_index() -> Any:
    @T.prim_func
    def main(X: T.Tensor((128,), T.float32), Y: T.Tensor((128,), T.float32)):
        with T.Kernel(1, threads=128):
            tx = T.get_thread_binding(0)
            Y[tx] = X[tx] + T.float32(1)

    return main


def negative_tile() -> Any:
    @T.prim_func
    def main(X: T.Tensor((128, 128), T.float32)):
        with T.Kernel(1, threads=128):
            xs = T.alloc_shared((-1, 128), T.float32)
            T.copy(X[0:1, 0:128], xs)

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


def strided_by_the_caller() -> Any:
    stride = T.dynamic("stride")

    @T.prim_func
    def main(X: T.StridedTensor((128, 128), (stride, 1), T.float32), Y: T.Tensor((128, 128), T.float32)):
        with T.Kernel(1, threads=128):
            xs = T.alloc_shared((128, 128), T.float32)
            T.copy(X, xs)
            T.copy(xs, Y)

    return main


def four_bit_elements() -> Any:
    @T.prim_func
    def main(X: T.Tensor((128, 128), T.float4_e2m1fn), Y: T.Tensor((128, 128), T.float4_e2m1fn)):
        with T.Kernel(1, threads=128):
            xs = T.alloc_shared((128, 128), T.float4_e2m1fn)
            T.copy(X, xs)
            T.copy(xs, Y)

    return main


NOT_BUILDABLE: dict[Factory, str] = {
    symbolic_gemm: "symbolic-size",
    strided_by_the_caller: "symbolic-size",
    scalar_argument: "scalar-parameter",
    four_bit_elements: "argument-dtype",
    two_kernels: "several-kernels",
}
"""Kernels that cannot be built as they are, whoever schedules them."""

NOT_FITTING: dict[Factory, str] = {
    split_k_atomic: "atomic-operation",
    else_branch: "else-branch",
    hand_barrier: "hand-written-barrier",
    two_d_threads: "threads-not-one-dimensional",
    data_dependent_loop: "dynamic-scope",
    synchronised: "hand-written-synchronisation",
    extern_call: "foreign-call",
    printing: "foreign-call",
    hand_specialised: "already-specialised",
    thread_index: "thread-index-used",
    negative_tile: "extent-not-positive",
}
