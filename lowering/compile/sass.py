"""Reads the binary itself, if a disassembler is available: register requests, tensor-core and copy-engine instructions.

The assembler silently drops a setmaxnreg on some paths; only the machine code shows it. Forms seen with CUDA 13 for sm_90a::

    USETMAXREG.DEALLOC.CTAPOOL 0x18 ;
    USETMAXREG.TRY_ALLOC.CTAPOOL UP0, 0xf0 ;
    HGMMA.64x128x16.F32.BF16 R24, gdesc[UR8], R24, gsb0 ;
"""

import re
import shutil
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

__all__ = ["SassReport", "disassemble", "find_cuobjdump", "parse_sass"]

LIMIT_SECONDS = 60.0

_INSTRUCTION = re.compile(r"^\s*/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_.]*)([^;]*);", re.MULTILINE)
_IMMEDIATE = re.compile(r"0x([0-9a-f]+)\s*$")


@dataclass(frozen=True, slots=True)
class SassReport:
    """The content of the machine code. ``register_requests`` are the values of all setmaxnreg, each as often as it occurs."""

    instructions: int
    register_requests: tuple[int, ...]
    warpgroup_mma: int
    other_mma: int
    bulk_loads: int
    bulk_stores: int
    local_memory: int


def find_cuobjdump(nvcc: Path) -> Path | None:
    """The disassembler next to nvcc or on PATH, None if there is none."""
    beside = nvcc.resolve().parent / "cuobjdump"
    found = str(beside) if beside.is_file() else shutil.which("cuobjdump")
    return Path(found) if found else None


def disassemble(binary: Path, cuobjdump: Path) -> SassReport | None:
    """The report of a shared object; None if the tool fails, which says nothing about the binary."""
    try:
        run = subprocess.run(
            [str(cuobjdump), "--dump-sass", str(binary)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=LIMIT_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return parse_sass(run.stdout) if run.returncode == 0 else None


def parse_sass(text: str) -> SassReport | None:
    """Counts from a listing; None if it has no instructions."""
    found = [(match.group(1), match.group(2)) for match in _INSTRUCTION.finditer(text)]
    if not found:
        return None
    kinds = Counter(name.split(".")[0] for name, _ in found)
    requests = [
        int(value.group(1), 16)
        for name, operands in found
        if name.startswith("USETMAXREG") and (value := _IMMEDIATE.search(operands.rstrip()))
    ]
    return SassReport(
        instructions=len(found),
        register_requests=tuple(sorted(requests)),
        warpgroup_mma=kinds["HGMMA"] + kinds["QGMMA"] + kinds["IGMMA"] + kinds["BGMMA"] + kinds["UTCHMMA"],
        other_mma=kinds["HMMA"] + kinds["IMMA"] + kinds["DMMA"] + kinds["QMMA"],
        bulk_loads=kinds["UTMALDG"],
        bulk_stores=kinds["UTMASTG"],
        local_memory=kinds["LDL"] + kinds["STL"],
    )
