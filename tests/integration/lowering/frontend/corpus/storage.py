"""Names, storage and statements that the source gives by hand."""

from collections.abc import Callable
from typing import Any

import tilelang.language as T

Factory = Callable[[], Any]


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


FITTING: tuple[Factory, ...] = (
    named_statements,
    local_variables,
    annotated_layouts,
    shared_view,
)
