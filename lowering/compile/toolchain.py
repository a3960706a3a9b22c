"""Finds nvcc and its headers, and writes the command lines. Nothing heavy is imported here."""

import importlib.metadata
import importlib.util
import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from warpwright.lowering.compile import ptxas
from warpwright.lowering.compile.package_content import content_digest, package_identity
from warpwright.lowering.compile.result import PtxasReport
from warpwright.lowering.outcome import StepOutcome
from warpwright.solver.domain import Outcome
from warpwright.solver.domain.errors import WarpwrightError

__all__ = ["LOWERING", "CudaToolchain", "ToolchainMissing", "find_cuda", "tilelang_root", "versions"]

OVERRIDE = "WARPWRIGHT_NVCC"

LOWERING = "6"
"""Version of our own lowering around TileLang: it changes when the same schedule gives another binary than before."""


class ToolchainMissing(WarpwrightError):
    """A vendor tool is missing on this machine; the message says what to install."""

    code = "toolchain-missing"


@dataclass(frozen=True, slots=True)
class CudaToolchain:
    """A device compiler: the nvcc to call, and TileLang's headers and driver stub to build against."""

    nvcc: Path
    includes: tuple[Path, ...]
    stub: Path | None
    source_name: str = "kernel.cu"
    extra: tuple[str, ...] = ()
    """Flags of the build options."""

    def identity(self) -> str:
        """nvcc's release and the flags."""
        release = versions(self.nvcc).get("nvcc", "unknown")
        plain = replace(self, nvcc=Path("nvcc"), includes=())
        return " ".join([release, *plain.command(self.source_name, "kernel.so", "sm_0", Path())])

    def read(self, log: str, arch: str) -> tuple[PtxasReport | None, StepOutcome | None]:
        """The assembler's report; a failure if there is none, or if it made code for another architecture."""
        report = ptxas.parse(log)
        if report is None:
            return None, StepOutcome(Outcome.COMPILE_FAILED, "the compiler gave no assembler report", ("no_report",))
        if (made_for := ptxas.architecture(log)) != arch:
            message = f"requested {arch}, but the assembler made code for {made_for or 'no architecture'}"
            return report, StepOutcome(Outcome.COMPILE_FAILED, message, ("wrong_arch",))
        return report, None

    def failure(self, log: str) -> StepOutcome:
        """The assembler's or the compiler's reason."""
        return ptxas.failure(log)

    def command(self, source: str, binary: str, arch: str, library_folder: Path) -> list[str]:
        """The command that makes a self-contained shared object: static CUDA runtime, driver resolved at run time.

        ``-gencode`` with the ``a`` suffix keeps Hopper-only instructions; no line info and ``-s`` keep the bytes independent of
        paths and process ids, so that one source gives one digest.
        """
        number = arch.removeprefix("sm_")
        return [
            str(self.nvcc),
            *("-std=c++20", "-O3", "-w", "-Xcudafe", "--diag_suppress=177", "--shared"),
            *("-gencode", f"arch=compute_{number},code=sm_{number}"),
            *self.extra,
            *("-Xptxas", "-v", "-Xcompiler", "-fPIC", "-Xlinker", "-s"),
            *(f"-I{folder}" for folder in self.includes),
            *(source, f"-L{library_folder}", "-lcuda", "-o", binary),
        ]


def find_cuda(nvcc: str | None = None) -> CudaToolchain:
    """The toolchain of this machine: the path given, ``WARPWRIGHT_NVCC``, ``CUDA_HOME``, PATH, or the pip package.

    Raises:
        ToolchainMissing: there is no nvcc; the message says how to get one.
    """
    root = tilelang_root()
    includes = (root / "3rdparty" / "cutlass" / "include", root / "src")
    stub = root / "lib" / "libstub_cuda.so"
    for candidate in _candidates(nvcc):
        if candidate.is_file() and os.access(candidate, os.X_OK):
            return CudaToolchain(candidate, includes, stub if stub.exists() else None)
    raise ToolchainMissing(
        "nvcc was not found: put it on PATH, set CUDA_HOME, or install 'tilelang[nvcc]' (nvidia-cuda-nvcc 13.0.48 or newer)"
    )


@lru_cache(maxsize=8)
def versions(nvcc: Path) -> dict[str, str]:
    """Builds that a result depends on: TileLang, its FFI, our own lowering, nvcc's release and build."""
    run = subprocess.run([str(nvcc), "--version"], capture_output=True, text=True, check=False, timeout=30)
    packages = {name: package_identity(name) for name in ("tilelang", "apache-tvm-ffi")}
    return {**packages, "lowering": LOWERING, "nvcc": _build_of(nvcc, run.stdout)}


def _build_of(nvcc: Path, printed: str) -> str:
    """Release and build as nvcc prints them; without a build number, nvcc is identified by its bytes."""
    lines = [line.strip() for line in printed.splitlines()]
    release = next((line.rpartition(" ")[2] for line in reversed(lines) if "release" in line), "unknown")
    build = next((line.removeprefix("Build ").rpartition("/")[2] for line in lines if line.startswith("Build ")), "")
    return f"{release} {build or content_digest(nvcc.parent, (nvcc.name,))}"


def _candidates(nvcc: str | None) -> Sequence[Path]:
    explicit = nvcc or os.environ.get(OVERRIDE)
    if explicit:
        return [Path(explicit)]
    found = [Path(home) / "bin" / "nvcc" for key in ("CUDA_HOME", "CUDA_PATH") if (home := os.environ.get(key))]
    if on_path := shutil.which("nvcc"):
        found.append(Path(on_path))
    try:
        files = importlib.metadata.files("nvidia-cuda-nvcc") or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    found += [Path(str(file.locate())) for file in files if file.name == "nvcc"]
    return [*found, Path("/usr/local/cuda/bin/nvcc")]


def tilelang_root() -> Path:
    """TileLang's package folder, found without importing it."""
    spec = importlib.util.find_spec("tilelang")
    if spec is None or not spec.submodule_search_locations:
        raise ToolchainMissing("TileLang is not installed: install the 'kernels' extra (tilelang 0.1.15)")
    return Path(next(iter(spec.submodule_search_locations)))
