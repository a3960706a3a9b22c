"""Runs the device compiler on a launcher source and checks its output.

The product is a shared object in a folder named by the digest of its inputs.
"""

import errno
import json
import os
import shutil
import struct
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from warpwright.lowering.compile.result import PtxasReport
from warpwright.lowering.outcome import StepOutcome
from warpwright.solver.domain import Outcome
from warpwright.solver.domain.identity import digest_bytes, digest_text

__all__ = ["BuildResult", "Compiler", "artifact_damage", "build"]

LIBRARY, LOG, RECORD = "kernel.so", "compiler.log", "build.json"
ELF_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")


class Compiler(Protocol):
    """A device compiler: its command line, and the parser of its output. The only part that differs between vendors."""

    @property
    def source_name(self) -> str:
        """File name of the source, with the suffix that the compiler expects."""
        ...

    @property
    def stub(self) -> Path | None:
        """A stub of the driver's library to link against, as ``libcuda.so`` in the build's folder."""
        ...

    def identity(self) -> str:
        """Version and flags, without paths of this machine."""
        ...

    def command(self, source: str, binary: str, arch: str, library_folder: Path) -> list[str]:
        """The command that makes a shared object."""
        ...

    def read(self, log: str, arch: str) -> tuple[PtxasReport | None, StepOutcome | None]:
        """Reads the output of a successful run: a report if the vendor gives one, a failure if the product is wrong."""
        ...

    def failure(self, log: str) -> StepOutcome:
        """Reads the output of a failed run."""
        ...


@dataclass(frozen=True, slots=True)
class BuildResult:
    """A finished or failed build: ``failure`` set, or ``binary`` and ``report``."""

    failure: StepOutcome | None
    binary: Path | None = None
    digest: str = ""
    report: PtxasReport | None = None
    seconds: float = 0.0
    reused: bool = False


def build(launcher: str, arch: str, toolchain: Compiler, output: Path) -> BuildResult:
    """Compiles a launcher source into ``output/<key>/kernel.so``, or reuses an undamaged existing one.

    The key is the digest of source, architecture, flags and compiler version, so equal sources are compiled once.
    """
    key = digest_text("\n".join((launcher, arch, toolchain.identity()))).removeprefix("sha256:")[:32]
    folder = output / key
    if (kept := _reuse(folder, arch, toolchain)) is not None:
        return kept
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="build-") as work:
        made = _compile(launcher, arch, toolchain, Path(work))
        seconds = time.monotonic() - begun
        if made.failure is not None:
            return BuildResult(made.failure, report=made.report, seconds=seconds)
        while not _publish(Path(work), folder, made.digest, toolchain.source_name):
            # Compilers need not give the same bytes twice: the first published build counts.
            if (kept := _reuse(folder, arch, toolchain)) is not None:
                return kept
    return BuildResult(None, folder / LIBRARY, made.digest, made.report, seconds)


def artifact_damage(data: bytes) -> str:
    """What is wrong with a shared object's bytes, empty if it is complete: not ELF, another machine, truncated."""
    if len(data) < ELF_HEADER.size or data[:4] != b"\x7fELF":
        return "not an ELF file"
    fields = ELF_HEADER.unpack(data[: ELF_HEADER.size])
    kind, machine, offset, entry, count = fields[1], fields[2], fields[6], fields[11], fields[12]
    if kind != 3:
        return "not a shared object"
    if machine not in (62, 183):
        return f"made for ELF machine {machine}"
    if offset + entry * count > len(data):
        return f"truncated: {len(data)} bytes, section table ends at {offset + entry * count}"
    return ""


def _compile(launcher: str, arch: str, toolchain: Compiler, work: Path) -> BuildResult:
    (work / toolchain.source_name).write_text(launcher)
    if toolchain.stub is not None:
        (work / "libcuda.so").symlink_to(toolchain.stub)
    run = subprocess.run(
        toolchain.command(toolchain.source_name, LIBRARY, arch, work),
        cwd=work,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
        env={**os.environ, "TMPDIR": str(work)},
    )
    log = run.stdout.decode(errors="replace")
    (work / LOG).write_text(log)
    if run.returncode != 0:
        return BuildResult(toolchain.failure(log))
    library = work / LIBRARY
    data = library.read_bytes() if library.exists() else b""
    if damage := artifact_damage(data):
        message = f"the compiler's output is damaged: {damage}"
        return BuildResult(StepOutcome(Outcome.INFRASTRUCTURE, message, ("artifact_damaged",)))
    report, failure = toolchain.read(log, arch)
    if failure is not None:
        return BuildResult(failure, report=report)
    return BuildResult(None, library, digest_bytes(data), report)


def _publish(work: Path, folder: Path, digest: str, source_name: str) -> bool:
    """Moves a build into place in one step; False if another build of the same key exists by now, which is kept."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(prefix=".new-", dir=folder.parent))
    for name in (LIBRARY, LOG, source_name):
        shutil.copyfile(work / name, fresh / name)
    (fresh / RECORD).write_text(json.dumps({"digest": digest}))
    fresh.chmod(0o755)
    try:
        fresh.rename(folder)
    except OSError as error:
        shutil.rmtree(fresh)
        if error.errno not in (errno.EEXIST, errno.ENOTEMPTY):
            raise
        return False
    return True


def _reuse(folder: Path, arch: str, toolchain: Compiler) -> BuildResult | None:
    """A finished build of the same key, if its bytes are still the ones that were recorded; a damaged one is removed."""
    try:
        digest = json.loads((folder / RECORD).read_text())["digest"]
        report, failure = toolchain.read((folder / LOG).read_text(), arch)
        whole = digest_bytes((folder / LIBRARY).read_bytes()) == digest and failure is None
    except FileNotFoundError:
        whole = False
        if not folder.exists():
            return None
    except (OSError, ValueError, KeyError):
        whole = False
    if not whole:
        shutil.rmtree(folder)
        return None
    return BuildResult(None, folder / LIBRARY, digest, report, reused=True)
