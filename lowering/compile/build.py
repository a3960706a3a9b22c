"""Runs the device compiler on a launcher source and checks what came out.

The product is a shared object in a folder named by the digest of what it was made of.
"""

import json
import os
import shutil
import struct
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from lowering.compile import ptxas
from lowering.compile.result import PtxasReport
from lowering.compile.toolchain import CudaToolchain, versions
from lowering.outcome import Outcome, OutcomeKind
from solver.domain.identity import digest_bytes, digest_text

__all__ = ["Built", "artifact_damage", "build"]

LIBRARY, LOG, RECORD = "kernel.so", "nvcc.log", "build.json"
ELF_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")


@dataclass(frozen=True, slots=True)
class Built:
    """A finished or failed build: ``failure`` set, or ``binary`` and ``report``."""

    failure: Outcome | None
    binary: Path | None = None
    digest: str = ""
    report: PtxasReport | None = None
    seconds: float = 0.0
    reused: bool = False


def build(launcher: str, arch: str, toolchain: CudaToolchain, output: Path) -> Built:
    """Compiles a launcher source into ``output/<key>/kernel.so``, or takes an undamaged one that is there.

    The key is the digest of source, architecture, flags and compiler version, so equal sources are compiled once.
    """
    flags = " ".join(toolchain.command("kernel.cu", LIBRARY, arch, Path())[1:])
    flags = flags.replace(str(toolchain.includes[0].parent.parent.parent), "")
    release = versions(toolchain.nvcc).get("nvcc", "")
    folder = output / digest_text("\n".join((launcher, arch, flags, release))).removeprefix("sha256:")[:32]
    if (kept := _reuse(folder, arch)) is not None:
        return kept
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="build-") as work:
        made = _compile(launcher, arch, toolchain, Path(work))
        seconds = time.monotonic() - begun
        if made.failure is not None:
            return Built(made.failure, report=made.report, seconds=seconds)
        _publish(Path(work), folder, made.digest)
    return Built(None, folder / LIBRARY, made.digest, made.report, seconds)


def artifact_damage(data: bytes) -> str:
    """What is wrong with a shared object's bytes, empty when it is whole: not ELF, another machine, cut short."""
    if len(data) < ELF_HEADER.size or data[:4] != b"\x7fELF":
        return "no ELF file"
    fields = ELF_HEADER.unpack(data[: ELF_HEADER.size])
    kind, machine, offset, entry, count = fields[1], fields[2], fields[6], fields[11], fields[12]
    if kind != 3:
        return "no shared object"
    if machine not in (62, 183):
        return f"made for ELF machine {machine}"
    if offset + entry * count > len(data):
        return f"cut short: {len(data)} bytes, section table ends at {offset + entry * count}"
    return ""


def _compile(launcher: str, arch: str, toolchain: CudaToolchain, work: Path) -> Built:
    (work / "kernel.cu").write_text(launcher)
    if toolchain.stub is not None:
        (work / "libcuda.so").symlink_to(toolchain.stub)
    command = toolchain.command("kernel.cu", LIBRARY, arch, Path())
    run = subprocess.run(
        [part if part != "-L." else f"-L{work}" for part in command],
        cwd=work,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
        env={**os.environ, "TMPDIR": str(work)},
    )
    log = run.stdout.decode(errors="replace")
    (work / LOG).write_text(log)
    report = ptxas.parse(log)
    if run.returncode != 0:
        return Built(ptxas.failure(log), report=report)
    library = work / LIBRARY
    data = library.read_bytes() if library.exists() else b""
    if damage := artifact_damage(data):
        return Built(
            Outcome(OutcomeKind.INFRASTRUCTURE, f"the compiler's output is damaged: {damage}", ("artifact_damaged",))
        )
    if report is None:
        return Built(Outcome(OutcomeKind.COMPILE_FAILED, "the compiler gave no assembler report", ("no_report",)))
    if (made_for := ptxas.architecture(log)) != arch:
        message = f"asked for {arch}, the assembler made code for {made_for or 'no architecture'}"
        return Built(Outcome(OutcomeKind.COMPILE_FAILED, message, ("wrong_arch",)), report=report)
    return Built(None, library, digest_bytes(data), report)


def _publish(work: Path, folder: Path, digest: str) -> None:
    """Moves a build into place in one step; who loses a race against an equal build keeps the winner's files."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(prefix=".new-", dir=folder.parent))
    for name in (LIBRARY, LOG, "kernel.cu"):
        shutil.copyfile(work / name, fresh / name)
    (fresh / RECORD).write_text(json.dumps({"digest": digest}))
    fresh.chmod(0o755)
    try:
        fresh.rename(folder)
    except OSError:
        shutil.rmtree(fresh)


def _reuse(folder: Path, arch: str) -> Built | None:
    """A finished build of the same key, if its bytes are still the ones that were recorded; a damaged one is removed."""
    try:
        digest = json.loads((folder / RECORD).read_text())["digest"]
        log = (folder / LOG).read_text()
        data = (folder / LIBRARY).read_bytes()
    except (OSError, ValueError, KeyError):
        return None
    report = ptxas.parse(log)
    if digest_bytes(data) != digest or report is None or ptxas.architecture(log) != arch:
        shutil.rmtree(folder, ignore_errors=True)
        return None
    return Built(None, folder / LIBRARY, digest, report, reused=True)
