"""The compile task with the real TileLang, and with nvcc where this machine has one."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.integration.lowering.nvcc import no_nvcc
from warpwright.lowering.compile import CompiledKernel, from_document
from warpwright.lowering.compile.build import artifact_damage
from warpwright.lowering.testing import toolchain as stand_in
from warpwright.solver.domain import (
    ROOT,
    OpRef,
    Outcome,
    Pipeline,
    Role,
    RoleBody,
    ScopeProgram,
    Sync,
    SyncKind,
    WarpSchedule,
    digest_bytes,
    dump,
)
from warpwright.solver.profiles import load_profile
from warpwright.tuning.children import ChildPool, Limits, Refused, Returned

LIMITS = Limits(wall_seconds=240)

KERNEL = """
import sys
import tilelang.language as T
from tilelang import tvm

S = T.WSSync


def gemm(scheduled, M=512, N=512, K=512, BM=128, BN=128, BK=64, threads=128, blocks=1):
    @T.prim_func
    def small_gemm(A: T.Tensor((M, K), T.bfloat16), B: T.Tensor((N, K), T.bfloat16), C: T.Tensor((M, N), T.bfloat16)):
        with T.Kernel(N // BN, M // BM, threads=threads) as (bx, by):
            if blocks > 1:
                T.annotate_min_blocks_per_sm(blocks)
            As = T.alloc_shared((BM, BK), T.bfloat16)
            Bs = T.alloc_shared((BN, BK), T.bfloat16)
            Cs = T.alloc_shared((BM, BN), T.bfloat16)
            acc = T.alloc_fragment((BM, BN), T.float32)
            if len(scheduled) > 0:
                T.annotate_ws_schedule(T.WSSchedule(
                    num_warps=12,
                    roles=[T.WSRole("consumer", warps_lo=0, warps_hi=8, max_nreg=240),
                           T.WSRole("load", warps_lo=8, warps_hi=9, max_nreg=24)],
                    pipelines=[T.WSPipeline("a_b", [As, Bs], depth=3)],
                    scopes=[T.WSScope("k", {"load": [S.producer_acquire("a_b"), "ca", "cb", S.producer_commit("a_b")],
                                            "consumer": [S.consumer_wait("a_b"), "mma", S.consumer_release("a_b")]}),
                            T.WSScope(T.WSScope.ROOT, {"load": ["k"], "consumer": ["clear", "k", "cast", "store"]})]))
            T.fill(acc, 0, annotations={T.WSID: "clear"})
            for k in T.Pipelined(K // BK, num_stages=3, annotations={T.WSID: "k"}):
                T.copy(A[by * BM, k * BK], As, annotations={T.WSID: "ca"})
                T.copy(B[bx * BN, k * BK], Bs, annotations={T.WSID: "cb"})
                T.gemm(As, Bs, acc, transpose_B=True, annotations={T.WSID: "mma"})
            T.copy(acc, Cs, annotations={T.WSID: "cast"})
            T.copy(Cs, C[by * BM, bx * BN], annotations={T.WSID: "store"})
    return small_gemm


open(sys.argv[1], "w").write(tvm.ir.save_json(gemm("")))
open(sys.argv[2], "w").write(tvm.ir.save_json(gemm("yes")))
open(sys.argv[3], "w").write(tvm.ir.save_json(gemm("", threads=256, blocks=2)))
open(sys.argv[4], "w").write(tvm.ir.save_json(gemm("", BM=256, BN=256, BK=128, threads=256)))
"""


def plan(depth: int = 3) -> WarpSchedule:
    """The schedule that the scheduled kernel above carries, as ours (with another depth: a plan that it does not honour)."""

    def sync(kind: SyncKind) -> Sync:
        return Sync(kind, "a_b")

    load = (sync(SyncKind.PRODUCER_ACQUIRE), OpRef("ca"), OpRef("cb"), sync(SyncKind.PRODUCER_COMMIT))
    consume = (sync(SyncKind.CONSUMER_WAIT), OpRef("mma"), sync(SyncKind.CONSUMER_RELEASE))
    ends = tuple(OpRef(name) for name in ("clear", "k", "cast", "store"))
    return WarpSchedule(
        num_warps=12,
        roles=(Role("consumer", 0, 8, 240), Role("load", 8, 9, 24)),
        pipelines=(Pipeline("a_b", ("As", "Bs"), depth),),
        scopes=(
            ScopeProgram("k", (RoleBody("load", load), RoleBody("consumer", consume))),
            ScopeProgram(ROOT, (RoleBody("load", (OpRef("k"),)), RoleBody("consumer", ends))),
        ),
    )


@pytest.fixture(scope="module")
def irs(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    """IR of the kernel, plain and scheduled, for two blocks an SM, and too large; written by a process of its own."""
    folder = tmp_path_factory.mktemp("ir")
    (folder / "kernel.py").write_text(KERNEL)
    files = [folder / f"{name}.json" for name in ("plain", "scheduled", "two_blocks", "large")]
    subprocess.run([sys.executable, str(folder / "kernel.py"), *map(str, files)], check=True, capture_output=True)
    return tuple(file.read_text() for file in files)


def compiled(pool: ChildPool, output: Path, ir: str, **keys: Any) -> CompiledKernel:
    payload = {"ir": ir, "arch": "sm_90a", "variant": "default", "schedule": None, "output": str(output), **keys}
    reply = pool.run("compile.cuda", payload, LIMITS)
    assert isinstance(reply, Returned), reply
    return from_document(reply.value)


def test_source_alone_shows_the_launch_and_honours_the_plan(
    pool: ChildPool, irs: tuple[str, ...], tmp_path: Path
) -> None:
    kernel = compiled(pool, tmp_path, irs[1], variant="scheduled", schedule=dump(plan()), source_only=True)
    assert kernel.outcome.kind is Outcome.COMPILED
    assert kernel.outcome.details == ("source_only",)
    assert kernel.not_honoured == ()
    assert kernel.binary is None
    assert kernel.launch is not None
    assert (kernel.launch.grid, kernel.launch.block_threads) == ((4, 4, 1), 384)
    assert kernel.launch.dynamic_shared_bytes == 3 * (128 + 128) * 64 * 2 + 128 * 128 * 2
    assert [(a.name, a.access) for a in kernel.arguments] == [("A", "in"), ("B", "in"), ("C", "out")]


def test_a_plan_that_the_code_does_not_show_is_not_honoured(
    pool: ChildPool, irs: tuple[str, ...], tmp_path: Path
) -> None:
    kernel = compiled(pool, tmp_path, irs[1], variant="scheduled", schedule=dump(plan(depth=4)), source_only=True)
    assert kernel.outcome.kind is Outcome.NOT_HONOURED
    assert {gap.what for gap in kernel.not_honoured} == {
        "full barriers of pipeline a_b",
        "empty barriers of pipeline a_b",
    }


def test_a_schedule_on_a_chip_without_tma_is_seen_to_be_ignored(
    pool: ChildPool, irs: tuple[str, ...], tmp_path: Path
) -> None:
    keys: dict[str, Any] = {"arch": "sm_80", "variant": "scheduled", "schedule": dump(plan()), "source_only": True}
    kernel = compiled(pool, tmp_path, irs[1], **keys)
    assert kernel.outcome.kind is Outcome.NOT_HONOURED


def test_the_variants_are_different_code(pool: ChildPool, irs: tuple[str, ...], tmp_path: Path) -> None:
    variants = ("default", "role_based", "unspecialized")
    kernels = [compiled(pool, tmp_path, irs[0], variant=variant, source_only=True) for variant in variants]
    assert len({kernel.source_digest for kernel in kernels}) == 3
    threads = [kernel.launch.block_threads for kernel in kernels if kernel.launch]
    assert threads == [256, 256, 128]


def test_registers_that_cannot_be_allocated_are_limited_once_and_it_is_recorded(
    pool: ChildPool, irs: tuple[str, ...], tmp_path: Path
) -> None:
    nvcc = stand_in.write(tmp_path / "bin", log="C7600", cured_by="__maxnreg__(248)")
    kernel = compiled(pool, tmp_path / "out", irs[0], variant="unspecialized", nvcc=str(nvcc))
    assert kernel.outcome.kind is Outcome.COMPILED
    assert "register_cap_lowered" in kernel.outcome.details
    assert kernel.register_cap == 248
    assert "register count of '255'" in kernel.first_failure
    assert "__launch_bounds__(128, 1)" in kernel.source


@pytest.mark.parametrize("source_only", [True, False])
def test_a_choice_of_the_compiler_that_asks_for_more_registers_than_there_are_is_refused(
    pool: ChildPool, irs: tuple[str, ...], tmp_path: Path, source_only: bool
) -> None:
    """TileLang asks for 240 registers for each consumer whatever the launch gives: at two blocks an SM that hangs."""
    nvcc = stand_in.write(tmp_path / "bin", log="two_blocks")
    keys: dict[str, Any] = {"profile": dump(load_profile("h200")), "nvcc": str(nvcc), "source_only": source_only}
    kernels = {
        variant: compiled(pool, tmp_path, irs[2], variant=variant, **keys)
        for variant in ("default", "role_based", "unspecialized")
    }
    greedy = kernels.pop("default")
    assert (greedy.outcome.kind, greedy.outcome.details[0]) == (Outcome.REFUSED, "pool_exceeded")
    assert "budgets 24/240/240 need 64,512 registers, the launch gave 30,720" in greedy.outcome.message
    assert [kernel.outcome.kind for kernel in kernels.values()] == [Outcome.COMPILED] * 2
    assert [kernel.warpgroup_registers for kernel in kernels.values()] == [(104, 104, 24), ()]


def test_requests_that_the_assembler_drops_hold_up_nobody(
    pool: ChildPool, irs: tuple[str, ...], tmp_path: Path
) -> None:
    nvcc = stand_in.write(tmp_path / "bin", log="C7507")
    kernel = compiled(pool, tmp_path, irs[2], profile=dump(load_profile("h200")), nvcc=str(nvcc))
    assert (kernel.outcome.kind, kernel.outcome.details[0]) == (Outcome.COMPILED, "register_request_ignored")


@pytest.mark.parametrize("variant", ["default", "unspecialized"])
def test_what_no_block_can_hold_is_not_given_to_the_device_compiler(
    pool: ChildPool, irs: tuple[str, ...], tmp_path: Path, variant: str
) -> None:
    nvcc = stand_in.write(tmp_path / "bin", "segfault")
    kernel = compiled(pool, tmp_path, irs[3], variant=variant, profile=dump(load_profile("h200")), nvcc=str(nvcc))
    assert (kernel.outcome.kind, kernel.outcome.resource) == (Outcome.OVER_RESOURCE, "shared bytes per block")
    assert kernel.outcome.needed is not None
    assert kernel.outcome.needed > 232_448
    assert "nvcc" not in kernel.seconds


def test_text_that_is_no_ir_is_refused(pool: ChildPool, tmp_path: Path) -> None:
    payload = {"ir": "{}", "arch": "sm_90a", "variant": "default", "output": str(tmp_path)}
    reply = pool.run("compile.cuda", payload, LIMITS)
    assert isinstance(reply, Refused)
    assert reply.code == "ir-invalid"


@pytest.mark.skipif(no_nvcc(), reason="no nvcc on this machine")
def test_nvcc_makes_a_driver_only_object_and_the_plan_is_read_back(
    pool: ChildPool, irs: tuple[str, ...], tmp_path: Path
) -> None:
    keys: dict[str, Any] = {"variant": "scheduled", "schedule": dump(plan()), "profile": dump(load_profile("h200"))}
    kernel = compiled(pool, tmp_path, irs[1], **keys)
    assert kernel.outcome.kind is Outcome.COMPILED, kernel.outcome
    assert kernel.outcome.details == ()
    assert kernel.not_honoured == ()
    assert kernel.ptxas is not None
    assert (kernel.ptxas.registers, kernel.ptxas.spill_store_bytes) == (168, 0)
    assert kernel.binary is not None
    data = Path(kernel.binary).read_bytes()
    assert artifact_damage(data) == ""
    assert digest_bytes(data) == kernel.binary_digest
    assert b"libcudart.so" not in data
    assert b"tvm" not in data.lower()
    again = compiled(pool, tmp_path, irs[1], **keys)
    assert again.reused
    assert again.binary_digest == kernel.binary_digest
