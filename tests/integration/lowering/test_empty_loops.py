"""Loops that some blocks do not run at all: the compiler loses that, and what we hand to it keeps it."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from warpwright.kernel_file import read_kernel_file
from warpwright.solver.domain import Feasible, ProvenOptimal, WarpSchedule, dump
from warpwright.solver.profiles import load_profile
from warpwright.solving import solve_kernel
from warpwright.tuning.children import ChildPool, Limits, Returned

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
LIMITS = Limits(wall_seconds=240)
FEWER_TILES = {"M": 1000, "N": 1544, "K": 512, "BM": 128, "BN": 256, "BK": 64, "threads": 256, "workers": 132}
"""56 tiles for 132 blocks: on an H200 the kernel of 76 blocks too many read outside its tensors."""


@pytest.fixture(scope="module")
def loops() -> dict[str, dict[str, Any]]:
    child = [sys.executable, str(HERE / "kernels" / "empty_loops.py")]
    run = subprocess.run(child, capture_output=True, text=True, timeout=120, check=True, cwd=ROOT)
    answer: dict[str, dict[str, Any]] = json.loads(run.stdout)
    return answer


def test_each_block_runs_a_loop_as_often_as_was_written(loops: dict[str, dict[str, Any]]) -> None:
    assert loops["a wave for half the blocks"]["written"] == [1] * 32 + [0] * 32
    assert loops["none or two"]["written"] == [2] * 32 + [0] * 32
    for name, loop in loops.items():
        assert loop["guarded"] == loop["written"], name


def test_a_loop_that_the_compiler_keeps_is_left_as_it_is(loops: dict[str, dict[str, Any]]) -> None:
    for name in ("one or two", "none to two", "a condition already", "always once"):
        assert loops[name]["compiled"] == loops[name]["written"], name
        assert not loops[name]["changed"], name


def test_the_compiler_still_has_the_fault(loops: dict[str, dict[str, Any]]) -> None:
    """Fails with the first TileLang that is right: then ``guard_empty_loops`` can go."""
    lost = {name for name, loop in loops.items() if loop["compiled"] != loop["written"]}
    assert lost == {"a wave for half the blocks", "the last block only"}


def test_a_persistent_kernel_with_fewer_tiles_than_blocks_keeps_its_loop_in_every_build(pool: ChildPool) -> None:
    kernel = read_kernel_file(ROOT / "examples" / "gemm.py", settings=FEWER_TILES, pool=pool)
    profile = load_profile("h200")
    ir = kernel.variants[0].ir
    verdict = solve_kernel(kernel, profile, pool=pool)
    assert isinstance(verdict, ProvenOptimal | Feasible)
    assert isinstance(verdict.schedule, WarpSchedule)
    payload = {"ir": ir, "schedule": dump(verdict.schedule)}
    written = pool.run("materialize.warp", payload, LIMITS)
    assert isinstance(written, Returned)
    assert "T.serial(T.if_then_else(" in written.value["source"]
    for text, variant in ((ir, "unspecialized"), (ir, "default"), (written.value["ir"], "scheduled")):
        job = {"ir": text, "arch": profile.arch, "variant": variant, "schedule": None, "source_only": True}
        reply = pool.run("compile.cuda", {**job, "output": ""}, LIMITS)
        assert isinstance(reply, Returned), variant
        assert "for (int wave = 0; wave < " in reply.value["source"], variant
