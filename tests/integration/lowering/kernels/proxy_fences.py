"""Child process: kernels as TileLang writes them and as our build does, and how many fences it added. JSON out."""

import importlib.util
import json
import tempfile
from pathlib import Path
from typing import Any

import tilelang
import tilelang.language as T
from tilelang import tvm

from warpwright.lowering.compile.lower import PASS_CONFIGS, lower
from warpwright.lowering.materialize.tasks import plain

SYNC = T.WSSync


def read_by_threads(stages: int = 2) -> Any:
    @T.prim_func
    def main(X: T.Tensor((4096, 2048), T.float32), Y: T.Tensor((2048, 4096), T.float32)):
        with T.Kernel(64, threads=128) as bx:
            Xs = T.alloc_shared((64, 32), T.float32)
            y = T.alloc_fragment((64, 32), T.float32)
            for k in T.Pipelined(64, num_stages=stages):
                T.copy(X[bx * 64 : bx * 64 + 64, k * 32 : k * 32 + 32], Xs)
                for i, j in T.Parallel(64, 32):
                    y[i, j] = Xs[i, j] + Xs[i, 31 - j]
                for i, j in T.Parallel(64, 32):
                    Y[k * 32 + j, bx * 64 + i] = y[i, j]

    return main


def product(rows: int) -> Any:
    """With 64 rows a warpgroup product by descriptors, with fewer by ``ldmatrix`` and registers."""

    @T.prim_func
    def main(
        A: T.Tensor((4096, 4096), T.float16), B: T.Tensor((4096, 4096), T.float16), C: T.Tensor((4096, 4096), T.float16)
    ):
        with T.Kernel(64, 4096 // rows, threads=128) as (bx, by):
            As = T.alloc_shared((rows, 64), T.float16)
            Bs = T.alloc_shared((64, 64), T.float16)
            c = T.alloc_fragment((rows, 64), T.float32)
            T.clear(c)
            for k in T.Pipelined(64, num_stages=3):
                T.copy(A[by * rows, k * 64], As)
                T.copy(B[bx * 64, k * 64], Bs)
                T.gemm(As, Bs, c, transpose_B=True)
            T.copy(c, C[by * rows, bx * 64])

    return main


def copied_by_a_role() -> Any:
    """A schedule without fences whose load role fills the tiles of a product by ``cp.async``."""
    loads = [SYNC.producer_acquire("ab"), "copy_a", "copy_b", SYNC.producer_commit("ab")]
    uses = [SYNC.consumer_wait("ab"), "mma", SYNC.consumer_release("ab")]

    @T.prim_func
    def main(
        A: T.Tensor((4096, 4096), T.float16), B: T.Tensor((4096, 4096), T.float16), C: T.Tensor((4096, 4096), T.float16)
    ):
        with T.Kernel(64, 64, threads=128) as (bx, by):
            As = T.alloc_shared((64, 64), T.float16)
            Bs = T.alloc_shared((64, 64), T.float16)
            c = T.alloc_fragment((64, 64), T.float32)
            T.annotate_ws_schedule(
                T.WSSchedule(
                    8,
                    roles=[T.WSRole("consumer", warps_lo=0, warps_hi=4), T.WSRole("load", warps_lo=4, warps_hi=8)],
                    pipelines=[T.WSPipeline("ab", [As, Bs], 3)],
                    scopes=[
                        T.WSScope(T.WSScope.ROOT, {"consumer": ["clear", "k", "store"], "load": ["k"]}),
                        T.WSScope("k", {"consumer": uses, "load": loads}),
                    ],
                )
            )
            T.clear(c, annotations={T.WSID: "clear"})
            for k in T.serial(64, annotations={T.WSID: "k"}):
                T.copy(A[by * 64, k * 64], As, annotations={T.WSID: "copy_a"}, prefer_instruction="cp_async")
                T.copy(B[bx * 64, k * 64], Bs, annotations={T.WSID: "copy_b"}, prefer_instruction="cp_async")
                T.gemm(As, Bs, c, transpose_B=True, annotations={T.WSID: "mma"})
            T.copy(c, C[by * 64, bx * 64], annotations={T.WSID: "store"})

    return main


def scales_kept() -> Any:
    """A row of scales is loaded once and read by threads in a loop whose ring only products read."""

    @T.prim_func
    def main(
        A: T.Tensor((4096, 4096), T.float16),
        B: T.Tensor((4096, 4096), T.float16),
        S: T.Tensor((4096,), T.float32),
        C: T.Tensor((4096, 4096), T.float32),
    ):
        with T.Kernel(64, 64, threads=128) as (bx, by):
            As = T.alloc_shared((64, 64), T.float16)
            Bs = T.alloc_shared((64, 64), T.float16)
            Ss = T.alloc_shared((64,), T.float32)
            c = T.alloc_fragment((64, 64), T.float32)
            part = T.alloc_fragment((64, 64), T.float32)
            T.clear(c)
            T.copy(S[by * 64 : by * 64 + 64], Ss)
            for k in T.Pipelined(64, num_stages=3):
                T.copy(A[by * 64, k * 64], As)
                T.copy(B[bx * 64, k * 64], Bs)
                T.gemm(As, Bs, part, transpose_B=True, clear_accum=True)
                for i, j in T.Parallel(64, 64):
                    c[i, j] += part[i, j] * Ss[i]
            T.copy(c, C[by * 64, bx * 64])

    return main


def refilled_by_its_readers() -> Any:
    """No roles: the threads that read a tile wait for each other, and one of them starts the next bulk copy into it."""

    @T.prim_func
    def main(X: T.Tensor((4096, 2048), T.float32), Y: T.Tensor((2048, 4096), T.float32)):
        with T.Kernel(64, threads=128) as bx:
            Xs = T.alloc_shared((64, 32), T.float32)
            y = T.alloc_fragment((64, 32), T.float32)
            full = T.alloc_barrier(1)
            for k in T.serial(64):
                T.sync_threads()
                if T.get_thread_binding() == 0:
                    T.mbarrier_expect_tx(full, 64 * 32 * 4)
                    T.tma_copy(X[bx * 64 : bx * 64 + 64, k * 32 : k * 32 + 32], Xs, barrier=full)
                    T.mbarrier_arrive(full)
                T.mbarrier_wait_parity(full, k % 2)
                for i, j in T.Parallel(64, 32):
                    y[i, j] = Xs[i, j] + Xs[i, 31 - j]
                for i, j in T.Parallel(64, 32):
                    Y[k * 32 + j, bx * 64 + i] = y[i, j]

    return main


def answers(function: Any, variant: str) -> dict[str, Any]:
    target = tvm.target.Target({"kind": "cuda", "arch": "sm_90a"})
    with tvm.transform.PassContext(opt_level=3, config=PASS_CONFIGS[variant]), target:
        theirs = str(tilelang.lower(function, target=target).kernel_source)
    ours = lower(function, "sm_90a", variant)
    return {"theirs": theirs, "ours": ours.source, "added": ours.fences_added, "details": ours.details}


KERNELS = {
    "read by threads": read_by_threads(),
    "read by threads, one version": read_by_threads(1),
    "product through registers": product(32),
    "product by descriptors": product(64),
    "copied by a role": copied_by_a_role(),
    "scales kept": scales_kept(),
    "refilled by its readers": refilled_by_its_readers(),
}


VARIANTS = ("default", "role_based", "unspecialized")
UNASKED = {
    "read by threads, one version": ("role_based",),
    "copied by a role": ("role_based",),
    "refilled by its readers": ("role_based",),
    "scales kept": ("unspecialized",),
}
"""Choices that no test looks at: each is lowered twice, by TileLang alone and by us."""

PASTED = [
    ("read by threads", "default"),
    ("product through registers", "role_based"),
    ("product by descriptors", "default"),
    ("product by descriptors", "unspecialized"),
]
"""Kernels and choices whose source is written, and read again as its user would."""


def pasted(function: Any, variant: str, folder: Path) -> dict[str, Any]:
    """What TileLang makes of the source that we write for a choice, and what our build would still add."""
    payload = {"ir": tvm.ir.save_json(function), "variant": variant, "fenced_for": "sm_90a"}
    written = plain(payload)
    path = folder / f"{variant}.py"
    path.write_text(written["source"])
    spec = importlib.util.spec_from_file_location(variant, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    again = lower(module.main, "sm_90a", variant)
    return {"text": written["source"], "source": again.source, "added": again.fences_added}


def main() -> None:
    found = {
        name: {variant: answers(function, variant) for variant in VARIANTS if variant not in UNASKED.get(name, ())}
        for name, function in KERNELS.items()
    }
    with tempfile.TemporaryDirectory() as folder:
        for name, variant in PASTED:
            found[name][variant]["pasted"] = pasted(KERNELS[name], variant, Path(folder))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
