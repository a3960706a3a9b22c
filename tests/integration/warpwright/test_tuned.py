"""``@tuned`` in a user's program: the best schedule where one is known, the compiler's default whatever else happens."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from warpwright.errors import LockError
from warpwright.graphs import read_kernel
from warpwright.jit import LockSource
from warpwright.kernel_file import read_kernel_file
from warpwright.lock import LockEntry, write_lock
from warpwright.solver.domain import Feasible, ProvenOptimal, TargetFamily, WarpSchedule, dumps
from warpwright.solver.profiles import load_profile
from warpwright.solving import solve_kernel
from warpwright.toolchains import toolchain_of
from warpwright.tuning.children import ChildPool

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def schedule(pool: ChildPool) -> WarpSchedule:
    family = read_kernel_file(ROOT / "examples" / "gemm.py", settings={"M": 512, "N": 512, "K": 512}, pool=pool)
    verdict = solve_kernel(family, load_profile("h200"), pool=pool)
    assert isinstance(verdict, ProvenOptimal | Feasible)
    assert isinstance(verdict.schedule, WarpSchedule)
    return verdict.schedule


@pytest.fixture(scope="module")
def seen(schedule: WarpSchedule, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("tuned")
    (folder / "schedule.json").write_text(dumps(schedule))
    program = ROOT / "tests" / "integration" / "warpwright" / "tuned_program.py"
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TILELANG_CACHE_DIR": str(folder / "cache")}
    done = subprocess.run(
        [sys.executable, str(program), str(folder / "schedule.json")],
        env=environment, capture_output=True, text=True, timeout=280, check=False, cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return {**answer, "log": done.stderr}


def test_a_known_schedule_is_in_the_kernel(seen: dict[str, Any], schedule: WarpSchedule) -> None:
    assert f"__launch_bounds__({32 * schedule.num_warps}, 1)" in seen["source"]


@pytest.mark.parametrize("case", ["unknown", "away", "baseline", "wrong", "background", "illegal"])
def test_otherwise_the_default_runs(seen: dict[str, Any], case: str) -> None:
    assert seen[case] == "default"


def test_the_compilers_own_choices_get_the_fences_that_they_lack(seen: dict[str, Any]) -> None:
    for source in seen["repaired"]:
        lines = [line.strip() for line in source.splitlines()]
        assert lines.count("tl::fence_proxy_async();") == 1
        assert lines[lines.index("tl::fence_proxy_async();") + 1].endswith(".arrive();")


def test_a_default_that_would_hang_is_never_run(seen: dict[str, Any]) -> None:
    """Neither as what a lock file or a server names, nor because nothing is known."""
    assert len(seen["refused"]) == 2
    for source in seen["refused"]:
        assert "tl::warpgroup_reg_alloc<104>();" in source
        assert "tl::warpgroup_reg_alloc<240>();" not in source
    assert "budgets 24/240/240 need 64,512 registers" in seen["log"]


def test_build_options_hold_for_whatever_is_built(seen: dict[str, Any]) -> None:
    assert seen["configs"] == {"tl.device_compile_flags": ["-ftz=true"]}


def test_a_locked_choice_answers_only_for_its_build_options(
    schedule: WarpSchedule, pool: ChildPool, tmp_path: Path
) -> None:
    kernel = read_kernel_file(ROOT / "examples" / "gemm.py", settings={"M": 512, "N": 512, "K": 512}, pool=pool)
    device = load_profile("h200")
    _, ir_hash = read_kernel(kernel.variants[0].ir, device, pool=pool)
    entry = LockEntry(
        kernel=kernel.name, file="gemm.py", function=None, settings={}, params={}, profile=device.name,
        profile_digest=device.digest, ir_hash=ir_hash, kind="scheduled", schedule=schedule, certificate=None,
        source_digest="", toolchain="any", note="", time_ns=None, build_options=("flush_denormals",),
    )  # fmt: skip
    lock = tmp_path / "warpwright.lock"
    write_lock(lock, [entry])
    options = ("flush_denormals",)
    other = read_kernel_file(ROOT / "examples" / "gemm.py", settings={"M": 1024, "N": 512, "K": 512}, pool=pool)
    family = [other.variants[0].ir, kernel.variants[0].ir]
    with pytest.raises(LockError, match="locked with any, but"):
        LockSource(lock, build_options=options).find(family[1:], device)
    write_lock(lock, [replace(entry, toolchain=toolchain_of(TargetFamily.CUDA))])
    found = LockSource(lock, build_options=options).find(family[1:], device)
    assert found is not None
    assert (found.schedule, found.variant) == (schedule, 0)
    assert LockSource(lock).find(family[1:], device) is None
    second = LockSource(lock, build_options=options).find(family, device)
    assert second is not None
    assert second.variant == 1


def test_every_fallback_says_why(seen: dict[str, Any]) -> None:
    assert "no schedule is known for h200" in seen["log"]
    assert "server away" in seen["log"]


def test_an_unknown_kernel_is_tuned_in_the_background(seen: dict[str, Any]) -> None:
    assert seen["improved"] == 1


def test_the_arguments_and_ways_of_tilelang_stay(seen: dict[str, Any], schedule: WarpSchedule) -> None:
    assert seen["out_idx"] == [3]
    assert (
        f"__launch_bounds__({32 * schedule.num_warps}, 1)" in seen["listed"]
    )  # par_compile takes the schedule as well
    assert seen["debug"] == ["tilelang_jit_kernel_kernel.c", "tilelang_jit_program_kernel.py"]
    assert seen["signature"]


def test_the_decorated_object_stays_as_it_is(seen: dict[str, Any]) -> None:
    assert seen["untouched"]


def test_a_call_without_the_familys_parameters_gets_the_best_variant(seen: dict[str, Any]) -> None:
    assert seen["family"] == [
        "default BM=128 BN=128",
        "default BM=192",
        "default BM=128 BN=256",
        "default BM=128 BN=128",
    ]


def test_an_illegal_schedule_is_told_and_never_built(seen: dict[str, Any]) -> None:
    assert "the stored schedule is illegal: pipeline_depth" in seen["log"]
