"""Kernels with tensor memory, from TileLang's own IR to CUDA for sm_100a: roles, commits, columns, fences. No device ran them.

The short form reads the source back; with nvcc (``make test-long``) the binary's registers too.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests import kernels
from tests.integration.lowering.nvcc import no_nvcc
from warpwright.graphs import read_kernel
from warpwright.kernel_file import read_kernel_file
from warpwright.lowering.compile import CompiledKernel, from_document
from warpwright.solver.device.limits import read_limits
from warpwright.solver.device.tensor_memory import allocated, columns, tensor_buffers
from warpwright.solver.domain import (
    Feasible,
    KernelGraph,
    Op,
    Outcome,
    Pins,
    ProvenOptimal,
    StagePin,
    Sync,
    WarpSchedule,
    dump,
)
from warpwright.solver.domain.errors import WarpwrightError
from warpwright.solver.profiles import load_profile
from warpwright.solver.warp.verify import verify
from warpwright.solving import solve_kernel
from warpwright.tuning.children import ChildPool, Limits, Returned

ROOT = Path(__file__).resolve().parents[3]
B200 = load_profile("b200")
LIMITS = Limits(wall_seconds=240)
FILES = ("blackwell_gemm", "blackwell_attention")
PINS = {"blackwell_attention": Pins(stages=(StagePin("gemm_product_tm", 1),))}
"""The second product one iteration behind the first: a form that has to be buildable, whether or not the bound asks for it."""
BEHIND_A_BARRIER = re.compile(
    r"__syncthreads\(\);\s+tl::tcgen05_after_thread_sync\(\);\s+if \(\(*\(int\)threadIdx\.x\) >> 5\) == 0\) \{\s+"
    r"tl::tmem_deallocate"
)


@dataclass(frozen=True)
class Kernel:
    """One example with its schedule, and how it is built."""

    pool: ChildPool
    ir: str
    graph: KernelGraph
    schedule: WarpSchedule

    def built(self, output: Path, *, source_only: bool) -> CompiledKernel:
        schedule = dump(self.schedule)
        written = self.pool.run("materialize.warp", {"ir": self.ir, "schedule": schedule}, LIMITS)
        assert isinstance(written, Returned), written
        payload: dict[str, Any] = {
            "ir": written.value["ir"], "arch": B200.arch, "variant": "scheduled", "schedule": schedule,
            "profile": dump(B200), "output": str(output), "source_only": source_only,
        }  # fmt: skip
        reply = self.pool.run("compile.cuda", payload, LIMITS)
        assert isinstance(reply, Returned), reply
        return from_document(reply.value)


@pytest.fixture(scope="module")
def solved(pool: ChildPool) -> dict[str, Kernel]:
    made = {}
    for name in FILES:
        family = read_kernel_file(ROOT / "examples" / f"{name}.py", pool=pool)
        verdict = solve_kernel(family, B200, pins=PINS.get(name), pool=pool)
        assert isinstance(verdict, ProvenOptimal | Feasible), verdict
        assert isinstance(verdict.schedule, WarpSchedule)
        ir = family.variants[0].ir
        graph, _ = read_kernel(ir, B200, pool=pool)
        assert verify(graph, B200, verdict.schedule) == ()
        made[name] = Kernel(pool, ir, graph, verdict.schedule)
    return made


@pytest.fixture(scope="module")
def sources(solved: dict[str, Kernel], tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    built = {name: kernel.built(tmp_path_factory.mktemp(name), source_only=True) for name, kernel in solved.items()}
    for kernel in built.values():
        assert kernel.outcome.kind is Outcome.COMPILED, kernel.outcome
        assert kernel.not_honoured == ()
        assert "tensor_memory_kept" in kernel.outcome.details
    return {name: kernel.source for name, kernel in built.items()}


@pytest.mark.parametrize("name", FILES)
def test_products_have_a_role_of_one_warp_and_the_epilogue_reads_tensor_memory(
    solved: dict[str, Kernel], sources: dict[str, str], name: str
) -> None:
    schedule, source = solved[name].schedule, sources[name]
    assert {"consumer", "load", "mma"} <= {role.name for role in schedule.roles}
    assert schedule.role("mma").warps == 1
    assert "tcgen05mma_" in source
    assert "wgmma" not in source
    assert "tl::tcgen05_ld_32dp32bNx" in source


@pytest.mark.parametrize("name", FILES)
def test_the_end_of_each_span_of_the_products_is_a_commit(
    solved: dict[str, Kernel], sources: dict[str, str], name: str
) -> None:
    """Every release and every commit of the role mma arrives by the tensor core, on the barrier of its pipeline."""
    closed = {
        (entry.pipeline, "full" if "commit" in entry.sync.value else "empty")
        for program in solved[name].schedule.scopes
        for entry in program.body("mma")
        if isinstance(entry, Sync) and entry.sync.value in ("producer_commit", "consumer_release")
    }
    arrived = set(re.findall(r"tcgen05_mma_arrive\(\(&\((\w+)_(full|empty)\[", sources[name]))
    assert arrived == closed


@pytest.mark.parametrize("name", FILES)
def test_columns_are_those_that_the_code_allocates(
    solved: dict[str, Kernel], sources: dict[str, str], name: str
) -> None:
    graph, schedule, limits = solved[name].graph, solved[name].schedule, read_limits(B200)
    depth = {buffer: pipeline.depth for pipeline in schedule.pipelines for buffer in pipeline.buffers}
    needs = [columns(graph, limits, buffer) * depth.get(buffer.name, 1) for buffer in tensor_buffers(graph)]
    sizes = [int(size) for size in re.findall(r"tmem_allocate\(\(&\(\w+\[0\]\)\), (\d+)\)", sources[name])]
    assert sum(sizes) == allocated(limits, needs)


@pytest.mark.parametrize("name", FILES)
def test_tensor_memory_is_freed_when_all_warps_have_ended(sources: dict[str, str], name: str) -> None:
    assert BEHIND_A_BARRIER.search(sources[name])


def test_the_accumulator_of_a_persistent_kernel_has_two_versions(solved: dict[str, Kernel]) -> None:
    """Its product clears it at the start of each tile, so that no value lives from one tile to the next."""
    schedule = solved["blackwell_gemm"].schedule
    assert [pipeline.depth for pipeline in schedule.pipelines if "acc" in pipeline.buffers] == [2]


def test_the_products_of_attention_may_be_an_iteration_apart(solved: dict[str, Kernel]) -> None:
    program = solved["blackwell_attention"].schedule.program("k")
    stages = {entry.pipeline: entry.stage for entry in program.body("mma") if isinstance(entry, Sync)}
    assert (stages["scores_tm"], stages["product_tm"]) == (0, 1)


def test_the_kernels_of_the_tests_are_such_as_the_frontend_reads(solved: dict[str, Kernel]) -> None:
    def facts(graph: KernelGraph, wanted: str) -> tuple[object, ...]:
        op: Op = next(op for op in graph.ops if wanted in op.id)
        product = (op.gemm.waits, op.gemm.c_memory) if op.gemm is not None else ()
        flags = (op.clears_at_start, op.through_registers, op.replicable, op.left_in_flight, op.arrives_itself)
        return (op.kind, op.issue, *product, *flags)

    read, drawn = solved["blackwell_gemm"].graph, kernels.persistent_blackwell_gemm()
    for theirs, ours in (("gemm_acc", "mma"), ("copy_part_of_c", "read_back"), ("copy_As", "copy_a")):
        assert facts(read, theirs) == facts(drawn, ours), theirs


def test_warpgroup_products_are_refused_before_anything_is_built(pool: ChildPool) -> None:
    kernel = read_kernel_file(
        ROOT / "examples" / "gemm.py", settings={"workers": 132, "parts": 4, "flight": 2}, pool=pool
    )
    with pytest.raises(WarpwrightError, match=r"T\.wgmma_gemm is for devices with warpgroup products") as refused:
        read_kernel(kernel.variants[0].ir, B200, pool=pool)
    assert refused.value.code == "instruction-not-available"


def test_tensor_memory_is_refused_on_a_device_without_it(solved: dict[str, Kernel], pool: ChildPool) -> None:
    with pytest.raises(WarpwrightError, match="is for devices that have it") as refused:
        read_kernel(solved["blackwell_gemm"].ir, load_profile("h200"), pool=pool)
    assert refused.value.code == "instruction-not-available"


def reference(pool: ChildPool, ir: str, output: Path) -> str:
    payload: dict[str, Any] = {
        "ir": ir, "arch": B200.arch, "variant": "unspecialized", "schedule": None,
        "profile": dump(B200), "output": str(output), "source_only": True,
    }  # fmt: skip
    reply = pool.run("compile.cuda", payload, LIMITS)
    assert isinstance(reply, Returned), reply
    built = from_document(reply.value)
    assert built.outcome.kind is Outcome.COMPILED, built.outcome
    return built.source


@pytest.mark.parametrize("name", FILES)
def test_there_is_a_reference_without_roles_whose_products_wait_for_themselves(
    solved: dict[str, Kernel], pool: ChildPool, tmp_path: Path, name: str
) -> None:
    source = reference(pool, solved[name].ir, tmp_path)
    products = len(re.findall(r"tcgen05mma_[st]s<", source))
    assert products == {"blackwell_gemm": 1, "blackwell_attention": 2}[name]
    waits = re.findall(
        r"product_\d_ended\[0\]\.wait\((.*)\);\s+\}?\s+tl::tcgen05_before_thread_sync\(\);\s+__syncthreads", source
    )
    assert len(waits) == products


def test_a_reference_counts_products_over_all_loops(pool: ChildPool, tmp_path: Path) -> None:
    """With an odd number of steps a tile, a barrier's parity depends on the tile as well."""
    family = read_kernel_file(ROOT / "examples" / "blackwell_gemm.py", settings={"K": 33 * 128}, pool=pool)
    (wait,) = re.findall(r"product_0_ended\[0\]\.wait\((.*)\);", reference(pool, family.variants[0].ir, tmp_path))
    assert {"wave", "k"} <= set(re.findall(r"[a-z]+", wait))


@pytest.mark.slow
@pytest.mark.skipif(no_nvcc(), reason="no nvcc on this machine")
@pytest.mark.parametrize("name", FILES)
def test_the_binary_is_assembled_for_sm_100a_without_spills(
    solved: dict[str, Kernel], tmp_path: Path, name: str
) -> None:
    kernel = solved[name].built(tmp_path, source_only=False)
    assert kernel.outcome.kind is Outcome.COMPILED
    assert kernel.not_honoured == ()
    assert kernel.ptxas is not None
    assert (kernel.ptxas.spill_store_bytes, kernel.ptxas.messages) == (0, ())
