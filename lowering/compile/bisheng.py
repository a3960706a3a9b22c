"""Ascend's device compiler, if CANN is installed. Its command lines are tested with stand-ins; none ran on hardware.

The options are those of TileLang 0.1.15 (wheel, ``contrib/bisheng.py:105-124``, ``jit/adapter/libgen.py:154-180``).
"""

import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from warpwright.lowering.compile.result import PtxasReport
from warpwright.lowering.compile.toolchain import ToolchainMissing, tilelang_root
from warpwright.lowering.outcome import StepOutcome
from warpwright.solver.domain import Outcome

__all__ = ["BishengToolchain", "find_bisheng"]

ARCHITECTURE = "dav-3510"
"""The one architecture that TileLang generates code for (Ascend 950)."""

_ERROR = re.compile(r"(?:error|fatal)\s*:\s*(.+)", re.IGNORECASE)
_MEMORY = re.compile(r"(ub|l1|l0[abc]|cbuf|ca|cb|cc) (?:overflow|exceed)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class BishengToolchain:
    """bisheng, and TileLang's headers for Ascend."""

    bisheng: Path
    includes: tuple[Path, ...]
    stub: Path | None = None
    source_name: str = "kernel.asc"

    def identity(self) -> str:
        """The compiler's path identifies its version: CANN installs each release into its own folder."""
        home = os.path.realpath(self.bisheng)
        return " ".join([home, *self.command(self.source_name, "kernel.so", ARCHITECTURE, Path())[1:]])

    def command(self, source: str, binary: str, arch: str, library_folder: Path) -> list[str]:
        """The command that makes a shared object with launcher and kernel."""
        npu_arch = arch if arch.startswith("dav-") else ARCHITECTURE
        return [
            str(self.bisheng),
            *("-O2", "-fPIC", "-std=c++20", "-mllvm", "-cce-aicore-dcpreload-args=false", f"--npu-arch={npu_arch}"),
            *("-Wl,--no-mmap-output-file", "--shared", source),
            *(f"-I{folder}" for folder in self.includes),
            *("-o", binary),
        ]

    def read(self, log: str, arch: str) -> tuple[PtxasReport | None, StepOutcome | None]:
        """bisheng reports no resources."""
        return None, None

    def failure(self, log: str) -> StepOutcome:
        """Which memory overflowed if the compiler says so, else its error lines."""
        errors = [match.group(1).strip() for line in log.splitlines() if (match := _ERROR.search(line))]
        message = "; ".join(errors[:5])[:2000] or log[-500:]
        if found := _MEMORY.search(log):
            return StepOutcome(Outcome.OVER_RESOURCE, message, ("memory_overflow",), found.group(1).lower())
        return StepOutcome(Outcome.COMPILE_FAILED, message)


def find_bisheng() -> BishengToolchain:
    """``BISHENG_HOME/bin``, the toolkit's folder, or PATH.

    Raises:
        ToolchainMissing: there is none; then Ascend C source is the last product.
    """
    candidates = [
        Path(root) / "bin" / "bisheng"
        for key in ("BISHENG_HOME", "ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME")
        if (root := os.environ.get(key))
    ]
    if on_path := shutil.which("bisheng"):
        candidates.append(Path(on_path))
    for candidate in candidates:
        if candidate.is_file() and os.access(candidate, os.X_OK):
            return BishengToolchain(candidate, (tilelang_root() / "src",))
    raise ToolchainMissing(
        "bisheng was not found: install CANN's toolkit and set BISHENG_HOME or PATH", place="bisheng"
    )
