"""Locked builds: what was committed is built, and every difference stops the build and is named. Both example builds run."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import pytest

from tests.integration.warpwright.installed import Installed
from warpwright.errors import LockError
from warpwright.kernel_file import read_kernel_file
from warpwright.lock import LockEntry, check_entry, entry_of, read_lock, write_lock
from warpwright.result import Result
from warpwright.solver.domain import Candidate, CandidateKind, Feasible, Outcome, ProvenOptimal, WarpSchedule, documents
from warpwright.solver.profiles import load_profile
from warpwright.solving import solve_kernel
from warpwright.tuning.children import ChildPool, Limits, Returned, run_task

ROOT = Path(__file__).resolve().parents[3]
SETTINGS = {"M": 512, "N": 512, "K": 512}


@pytest.fixture(scope="module")
def project(pool: ChildPool, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a kernel file and a lock file, as a repository has them: solved, not tuned, to be quick."""
    folder = tmp_path_factory.mktemp("project")
    shutil.copy(ROOT / "examples" / "gemm.py", folder / "gemm.py")
    profile = load_profile("h200")
    kernel = read_kernel_file(folder / "gemm.py", settings=SETTINGS, pool=pool)
    verdict = solve_kernel(kernel, profile, pool=pool)
    assert isinstance(verdict, ProvenOptimal | Feasible)
    payload = {"ir": kernel.variants[0].ir, "schedule": documents.dump(verdict.schedule)}
    made = run_task("materialize.warp", payload, Limits(wall_seconds=120.0), pool=pool)
    assert isinstance(made, Returned)
    best = Candidate(
        id="candidate", kind=CandidateKind.SCHEDULED, outcome=Outcome.COMPILED, variant=0, params=kernel.variants[0].params,
        schedule=verdict.schedule, certificate=verdict.certificate,
        products={"tilelang_source": made.value["source"].encode()},
    )  # fmt: skip
    result = Result(kernel.name, "h200", "tuned", best, (best,), note="compiled, not measured")
    lock = folder / "warpwright.lock"
    entry = entry_of(result, kernel, profile, file=folder / "gemm.py", lock=lock, settings=SETTINGS)
    write_lock(lock, [entry])
    return folder


@pytest.fixture
def entry(project: Path) -> LockEntry:
    return read_lock(project / "warpwright.lock")[0]


def test_a_build_needs_tilelang_and_nothing_else(project: Path, tmp_path: Path) -> None:
    lock = project / "warpwright.lock"
    done = Installed(tmp_path, "kernels").warpwright(
        "build", "--locked", "--lock", lock, "--out", tmp_path / "out", "--source-only"
    )
    assert done.returncode == 0, done.stderr
    assert list((tmp_path / "out").glob("*/kernel.cu"))


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"toolchain": "tilelang 0.0.1"}, "lock-toolchain"),
        ({"toolchain": f"tilelang {version('tilelang')}"}, "lock-toolchain"),  # of before the builds had fences
        ({"profile_digest": "sha256:other"}, "lock-profile"),
        ({"params": {"BM": 7}}, "lock-variant"),
    ],
)
def test_a_difference_is_named(
    project: Path, entry: LockEntry, pool: ChildPool, changes: dict[str, object], code: str
) -> None:
    changed = replace(entry, **changes)  # type: ignore[arg-type]  # fields by name, checked by the dataclass
    with pytest.raises(LockError) as caught:
        check_entry(changed, project, pool=pool)
    assert caught.value.code == code


def test_an_illegal_schedule_is_never_built(project: Path, entry: LockEntry, pool: ChildPool) -> None:
    schedule = entry.schedule
    assert isinstance(schedule, WarpSchedule)
    deep = replace(schedule, pipelines=tuple(replace(pipeline, depth=64) for pipeline in schedule.pipelines))
    with pytest.raises(LockError, match="shared_memory") as caught:
        check_entry(replace(entry, schedule=deep), project, pool=pool)
    assert caught.value.code == "lock-illegal"


def test_a_false_certificate_stops_the_build(project: Path, entry: LockEntry, pool: ChildPool) -> None:
    assert entry.certificate is not None
    check_entry(entry, project, pool=pool)
    forged = replace(entry.certificate, on_chip_bytes=entry.certificate.on_chip_bytes - 1)
    with pytest.raises(LockError, match="on_chip_bytes") as caught:
        check_entry(replace(entry, certificate=forged), project, pool=pool)
    assert caught.value.code == "lock-certificate"
    assert "warpwright lock gemm.py" in caught.value.message


def test_a_kernel_that_changed_stops_the_build(
    project: Path, entry: LockEntry, pool: ChildPool, tmp_path: Path
) -> None:
    text = (project / "gemm.py").read_text()
    (tmp_path / "gemm.py").write_text(text.replace("T.use_swizzle(10)", "T.use_swizzle(8)"))
    with pytest.raises(LockError, match="changed since it was locked") as caught:
        check_entry(entry, tmp_path, pool=pool)
    assert caught.value.code == "lock-ir"


def run(*command: str | Path, cwd: Path, **environment: str) -> str:
    paths = {"PYTHONPATH": str(ROOT), **environment}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**os.environ, **paths},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-3000:]
    return done.stdout


@pytest.mark.slow  # five builds; its short form is the Python example below
@pytest.mark.timeout(600)
@pytest.mark.skipif(shutil.which("cmake") is None, reason="cmake is not on this machine")
@pytest.mark.skipif(shutil.which("nvcc") is None, reason="a binary needs nvcc on the path")
def test_the_cmake_example_builds_and_loads_its_kernel(project: Path, tmp_path: Path) -> None:
    for name in ("CMakeLists.txt", "main.cpp"):
        shutil.copy(ROOT / "examples" / "cmake" / name, tmp_path / name)
    program = tmp_path / "warpwright"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m warpwright "$@"\n')
    program.chmod(0o755)
    kernels = tmp_path / "my kernels"
    shutil.copytree(project, kernels)
    lock = kernels / "warpwright.lock"
    run("cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-DWARPWRIGHT={program}", f"-DLOCK={lock}", cwd=tmp_path)
    run("cmake", "--build", tmp_path / "build", cwd=tmp_path)
    assert "kernel loaded" in run(tmp_path / "build" / "run_kernel", cwd=tmp_path)
    (kernel,) = json.loads((tmp_path / "build" / "kernels" / "manifest.json").read_text())["kernels"]
    assert set(kernel["files"]) == {"kernel.py", "schedule.json", "kernel.cu", "kernel.so"}
    assert [argument["name"] for argument in kernel["arguments"]] == ["A", "B", "bias", "C"]
    assert "T.WSSchedule" in (tmp_path / "build" / "kernels" / kernel["folder"] / "kernel.py").read_text()
    assert "Building the locked kernels" not in run("cmake", "--build", tmp_path / "build", cwd=tmp_path)
    binary = tmp_path / "build" / "kernels" / kernel["folder"] / "kernel.so"
    before = binary.read_bytes()
    lock.touch()  # the same text, written again: built again into the same folder, from the binary that is there
    assert "Building the locked kernels" in run("cmake", "--build", tmp_path / "build", cwd=tmp_path)
    assert binary.read_bytes() == before
    text = (kernels / "gemm.py").read_text()
    (kernels / "gemm.py").write_text(text.replace("T.use_swizzle(10)", "T.use_swizzle(8)"))
    again = subprocess.run(
        ["cmake", "--build", tmp_path / "build"], capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert again.returncode != 0
    assert "the kernel has changed since it was locked; warpwright lock gemm.py --profile h200" in again.stderr


def test_the_python_example_puts_its_kernels_into_the_wheel(project: Path, tmp_path: Path) -> None:
    source = tmp_path / "python_build"
    shutil.copytree(ROOT / "examples" / "python_build", source)
    program = source / "setup.py"
    text = program.read_text()
    program.write_text(text.replace('"--out", str(out)]', '"--out", str(out), "--source-only"]'))
    lock = str(project / "warpwright.lock")
    run(sys.executable, "setup.py", "-q", "bdist_wheel", "-d", tmp_path / "dist", cwd=source, MYKERNELS_LOCK=lock)
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert "mykernels/kernels/manifest.json" in names
    assert "mykernels/kernels/gemm_bias_relu-h200/kernel.cu" in names
