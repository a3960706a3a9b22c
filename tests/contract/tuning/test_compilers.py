"""Results of two compilers never share an identity: nvcc by its build, packages by their content."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from warpwright.lowering.compile.toolchain import OVERRIDE

PROGRAM = """
from warpwright.solver.domain import TargetFamily
from warpwright.tuning.compilers import compilers_here
print(compilers_here(TargetFamily.CUDA))
"""
PRINTED = """nvcc: NVIDIA (R) Cuda compiler driver
Cuda compilation tools, release 13.0, V13.0.88
{build}"""


def fake_nvcc(folder: Path, build: str, comment: str = "") -> Path:
    folder.mkdir()
    nvcc = folder / "nvcc"
    nvcc.write_text(f"#!/bin/sh\n{comment}\ncat <<'END'\n{PRINTED.format(build=build)}\nEND\n")
    nvcc.chmod(0o755)
    return nvcc


def source_tree(folder: Path, library: bytes) -> Path:
    package = folder / "tilelang"
    (package / "lib").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "lib" / "libtilelang.so").write_bytes(library)
    return folder


def identity(nvcc: Path, *paths: Path) -> str:
    """The identity that results of a fresh process carry; ``paths`` come before everything that is installed."""
    environment = os.environ | {OVERRIDE: str(nvcc)}
    environment["PYTHONPATH"] = os.pathsep.join([*map(str, paths), *sys.path])
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_two_builds_of_one_release_differ(tmp_path: Path) -> None:
    first = identity(fake_nvcc(tmp_path / "a", "Build cuda_13.0.r13.0/compiler.36424714_0"))
    second = identity(fake_nvcc(tmp_path / "b", "Build cuda_13.0.r13.0/compiler.99999999_0"))
    assert first != second
    assert "V13.0.88 compiler.36424714_0" in first


def test_a_compiler_that_names_no_build_is_told_by_its_bytes(tmp_path: Path) -> None:
    assert identity(fake_nvcc(tmp_path / "a", "", "# one")) != identity(fake_nvcc(tmp_path / "b", "", "# two"))
    assert identity(fake_nvcc(tmp_path / "c", "", "# one")) == identity(fake_nvcc(tmp_path / "d", "", "# one"))


@pytest.mark.parametrize("same", [True, False])
def test_two_states_of_a_source_tree_differ(tmp_path: Path, same: bool) -> None:
    nvcc = fake_nvcc(tmp_path / "a", "Build cuda_13.0.r13.0/compiler.36424714_0")
    first = identity(nvcc, source_tree(tmp_path / "one", b"library"))
    second = identity(nvcc, source_tree(tmp_path / "two", b"library" if same else b"changed"))
    assert (first == second) is same
