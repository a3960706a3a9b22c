"""The graphs that ``benchmarks.ranking`` builds directly are those that the frontend reads from the TileLang kernels."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.kernels.graphs import attention_graph, gemm_graph
from warpwright.solver.domain import BASELINES, KernelGraph, Op, OpKind, Unit, load
from warpwright.solver.forecast import forecast_baseline
from warpwright.solver.profiles import load_profile

ROOT_FOLDER = Path(__file__).parents[4]
CASES: list[dict[str, Any]] = [
    {"kernel": "gemm", "parameters": [4096, 4096, 4096, 128, 256, 64, 3, 2]},
    {"kernel": "gemm", "parameters": [8192, 4096, 14336, 192, 192, 64, 2, 3]},
    {"kernel": "attention", "parameters": [4, 16, 4096, 128, 128, 128, 2, 2]},
    {"kernel": "attention", "parameters": [2, 8, 8192, 64, 192, 64, 1, 3]},
]


@pytest.fixture(scope="module")
def pairs() -> list[tuple[KernelGraph, KernelGraph]]:
    """(read by the frontend, built directly) for every case."""
    script = Path(__file__).parent / "landscape_graphs.py"
    command = [sys.executable, str(script), json.dumps(CASES)]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
        cwd=ROOT_FOLDER,
        env={"PYTHONPATH": str(ROOT_FOLDER)},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    read = [load(KernelGraph, graph) for graph in json.loads(done.stdout.splitlines()[-1])]
    built = [(gemm_graph if case["kernel"] == "gemm" else attention_graph)(*case["parameters"]) for case in CASES]
    return list(zip(read, built, strict=True))


def significant(graph: KernelGraph) -> list[Op]:
    """Operations that move or compute more than a row's statistics."""
    moves = (OpKind.TMA_LOAD, OpKind.TMA_STORE)
    return [op for op in graph.ops if op.gemm or op.kind in moves or cycles(op, Unit.ALU) >= 32]


def cycles(op: Op, unit: Unit) -> int:
    return sum(use.cycles for use in op.uses if use.unit is unit)


def test_same_grid_loops_and_threads(pairs: list[tuple[KernelGraph, KernelGraph]]) -> None:
    for read, built in pairs:
        assert (read.grid, read.threads, read.swizzle) == (built.grid, built.threads, built.swizzle)
        loops = [(scope.trips, scope.num_stages) for scope in read.scopes if scope.parent is not None]
        assert loops == [(scope.trips, scope.num_stages) for scope in built.scopes if scope.parent is not None]


def test_same_work_in_the_same_order(pairs: list[tuple[KernelGraph, KernelGraph]]) -> None:
    for read, built in pairs:
        theirs, ours = significant(read), significant(built)
        assert [op.kind for op in theirs] == [op.kind for op in ours]
        for their, our in zip(theirs, ours, strict=True):
            assert sum(a.bytes for a in their.writes) == sum(a.bytes for a in our.writes), our.id
            assert cycles(their, Unit.ALU) == pytest.approx(cycles(our, Unit.ALU), rel=0.05), our.id
            assert cycles(their, Unit.SFU) == pytest.approx(cycles(our, Unit.SFU), rel=0.05), our.id
            if their.gemm is not None and our.gemm is not None:
                first, second = their.gemm, our.gemm
                assert (first.m, first.n, first.k, first.a_memory, first.warp_policy) == (
                    *(second.m, second.n, second.k, second.a_memory, second.warp_policy),
                )


def test_same_registers(pairs: list[tuple[KernelGraph, KernelGraph]]) -> None:
    for read, built in pairs:
        theirs = sorted(buffer.registers_per_block for buffer in read.buffers)
        assert theirs == sorted(buffer.registers_per_block for buffer in built.buffers)


def test_same_forecasts(pairs: list[tuple[KernelGraph, KernelGraph]]) -> None:
    profile = load_profile("h200")
    for read, built in pairs:
        for kind in BASELINES:
            theirs, ours = forecast_baseline(read, profile, kind), forecast_baseline(built, profile, kind)
            assert theirs.nanoseconds == pytest.approx(ours.nanoseconds, rel=0.03), (built.name, kind)
