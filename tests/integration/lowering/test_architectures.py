"""Architectures between Ampere and Blackwell servers: sm_89 has neither TMA nor warpgroup products, sm_120a has TMA only.

The short form reads the source back; with nvcc (``make test-long``) the binary's registers too.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.integration.lowering.nvcc import no_nvcc
from warpwright.graphs import read_kernel
from warpwright.kernel_file import KernelFile, read_kernel_file
from warpwright.lowering.compile import CompiledKernel, from_document
from warpwright.solver.domain import Feasible, Outcome, ProvenOptimal, WarpSchedule, dump
from warpwright.solver.profiles import load_profile
from warpwright.solver.warp.verify import verify
from warpwright.solving import solve_kernel
from warpwright.tuning.children import ChildPool, Limits, Returned

ROOT = Path(__file__).resolve().parents[3]
SMALL = {"M": 256, "N": 256, "K": 256, "BM": 64, "BN": 64, "BK": 32, "threads": 128, "workers": 0, "stages": 2}
LIMITS = Limits(wall_seconds=240)
DEVICES = ["l40s", "rtx5090"]


@dataclass(frozen=True)
class Workbench:
    """A warm child and the small GEMM in it."""

    pool: ChildPool
    kernel: KernelFile

    def compiled(self, device: str, output: Path, *, scheduled: bool, source_only: bool) -> CompiledKernel:
        profile = load_profile(device)
        payload: dict[str, Any] = {
            "ir": self.kernel.variants[0].ir, "arch": profile.arch, "variant": "default", "schedule": None,
            "profile": dump(profile), "output": str(output), "source_only": source_only,
        }  # fmt: skip
        if scheduled:
            verdict = solve_kernel(self.kernel, profile, pool=self.pool)
            assert isinstance(verdict, ProvenOptimal | Feasible)
            assert isinstance(verdict.schedule, WarpSchedule)
            graph, _ = read_kernel(payload["ir"], profile, pool=self.pool)
            assert verify(graph, profile, verdict.schedule) == ()
            schedule = dump(verdict.schedule)
            written = self.pool.run("materialize.warp", {"ir": payload["ir"], "schedule": schedule}, LIMITS)
            assert isinstance(written, Returned)
            payload |= {"ir": written.value["ir"], "variant": "scheduled", "schedule": schedule}
        reply = self.pool.run("compile.cuda", payload, LIMITS)
        assert isinstance(reply, Returned), reply
        return from_document(reply.value)


@pytest.fixture(scope="module")
def bench(pool: ChildPool) -> Workbench:
    return Workbench(pool, read_kernel_file(ROOT / "examples" / "gemm.py", settings=SMALL, pool=pool))


def test_sm_89_copies_asynchronously_without_tma(bench: Workbench, tmp_path: Path) -> None:
    kernel = bench.compiled("l40s", tmp_path, scheduled=False, source_only=True)
    assert kernel.outcome.kind is Outcome.COMPILED
    assert "cp_async" in kernel.source
    assert "tma_load" not in kernel.source
    assert "wgmma" not in kernel.source


def test_a_schedule_for_sm_120a_uses_tma_and_is_honoured(bench: Workbench, tmp_path: Path) -> None:
    kernel = bench.compiled("rtx5090", tmp_path, scheduled=True, source_only=True)
    assert kernel.outcome.kind is Outcome.COMPILED
    assert kernel.not_honoured == ()
    assert "tma_load" in kernel.source
    assert "wgmma" not in kernel.source


@pytest.mark.slow
@pytest.mark.skipif(no_nvcc(), reason="no nvcc on this machine")
@pytest.mark.parametrize("device", DEVICES)
def test_the_binary_says_how_many_registers_it_has(bench: Workbench, tmp_path: Path, device: str) -> None:
    kernel = bench.compiled(device, tmp_path, scheduled=device == "rtx5090", source_only=False)
    assert kernel.outcome.kind is Outcome.COMPILED
    assert kernel.not_honoured == ()
    assert kernel.binary is not None
    assert kernel.ptxas is not None
    assert 32 <= kernel.ptxas.registers <= 255
    assert kernel.ptxas.spill_store_bytes == 0
