"""What this machine can do and what is missing. Only looks; installs and changes nothing."""

import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

__all__ = ["Finding", "examine"]

ASK_SECONDS = 20.0
CUDA_DEVICES = ("nvidia-smi", "--query-gpu=name,memory.total,driver_version,compute_cap", "--format=csv,noheader")
Run = Callable[[Sequence[str]], str | None]


@dataclass(frozen=True, slots=True)
class Finding:
    """One requirement that was checked. ``needed``: no tuning without it; otherwise ``enables`` says what it adds."""

    name: str
    found: bool
    detail: str
    enables: str
    needed: bool = False
    remedy: str = ""


def examine(*, server: str | None = None, token: str | None = None, run: Run | None = None) -> tuple[Finding, ...]:
    """All findings, in the order in which a user needs them. Tests replace ``run``, which calls programs.

    With a server, requirements of local tunings are optional.
    """
    ask = run or _ask
    here = server is None
    findings = [
        Finding("Python", sys.version_info >= (3, 11), platform.python_version(), "everything", needed=True),
        _package("ortools", "solving with CP-SAT", "solve", needed=here),
        _package("z3-solver", "solving with Z3, unsat cores", "solve", needed=here),
        _package("fastapi", "the service, alone or behind a tuning on this machine", "serve", needed=here),
        _package("tilelang", "reading and building TileLang kernels", "kernels"),
        _package("torch", "measuring kernels, comparing with libraries", "kernels"),
        _package("nvidia-ml-py", "clocks, power and other users of a GPU with each measurement", "kernels"),
        _nvcc(ask),
        _program("g++", ask, ("g++", "--version"), "building kernels (host side)"),
        _devices(ask),
        _program("bisheng", ask, ("bisheng", "--version"), "Ascend objects (the source needs no compiler)"),
        _program("npu-smi", ask, ("npu-smi", "info", "-l"), "measuring on Ascend"),
        _package("apache-tvm", "Relax modules", "relax"),
        _package("psycopg", "PostgreSQL", "postgres"),
        _package("celery", "workers on several machines", "cluster"),
        _data_folder(needed=here),
    ]
    if server:
        findings.append(_server(server, token))
    return tuple(findings)


def _package(name: str, enables: str, extra: str, *, needed: bool = False) -> Finding:
    try:
        found = version(name)
    except PackageNotFoundError:
        return Finding(name, False, "not installed", enables, needed, f"pip install 'warpwright[{extra}]'")
    return Finding(name, True, found, enables, needed)


def _program(name: str, ask: Run, command: Sequence[str], enables: str, remedy: str = "") -> Finding:
    answer = ask(command)
    detail = answer.strip().splitlines()[0] if answer and answer.strip() else "not found"
    return Finding(name, answer is not None, detail, enables, remedy="" if answer is not None else remedy)


def _nvcc(ask: Run) -> Finding:
    enables = "building CUDA kernels"
    answer = ask(("nvcc", "--version"))
    if answer is not None:
        release = next((line for line in answer.splitlines() if "release" in line), answer.strip().splitlines()[-1])
        return Finding("nvcc", True, release.strip(), enables)
    packaged = _package("nvidia-cuda-nvcc", enables, "nvcc")
    return Finding("nvcc", packaged.found, packaged.detail, enables, remedy=packaged.remedy)


def _devices(ask: Run) -> Finding:
    answer = ask(CUDA_DEVICES)
    names = [line.strip() for line in (answer or "").splitlines() if line.strip()]
    if not names:
        return Finding("NVIDIA GPU", False, "none", "measuring: results say 'measured', not 'compiled'")
    matching = sorted({profile for name in names if (profile := _profile_for(name))})
    known = f"; profile {', '.join(matching)}" if matching else "; no built-in profile"
    return Finding("NVIDIA GPU", True, "; ".join(names) + known, "measuring")


def _profile_for(device: str) -> str | None:
    """The built-in profile whose name occurs in the driver's name of the device; the longest of several."""
    from warpwright.solver.profiles import builtin_profiles

    plain = device.lower().replace(" ", "").replace("geforce", "")
    return max((name for name in builtin_profiles() if name in plain), key=len, default=None)


def _data_folder(*, needed: bool) -> Finding:
    from warpwright.service.settings import Settings

    folder = Settings.from_environment().data
    nearest = next(place for place in (folder, *folder.parents) if place.exists())
    try:
        with tempfile.TemporaryFile(dir=nearest):
            writable = True
    except OSError:
        writable = False
    free = shutil.disk_usage(nearest).free // (1 << 30)
    detail = f"{folder}, {free} GiB free" if writable else f"{folder} is not writable"
    return Finding("data folder", writable, detail, "remembering results", needed, remedy="set WARPWRIGHT_DATA")


def _server(server: str, token: str | None) -> Finding:
    from warpwright.client import Client
    from warpwright.errors import ServerError

    try:
        with Client(server, token=token, seconds=5.0, retries=0) as client:
            count = sum(1 for _ in client.profiles())
    except ServerError as error:
        return Finding("server", False, str(error), "tuning on the server", remedy="check address and token")
    return Finding("server", True, f"{server}, {count} profiles, token accepted", "tuning on the server")


def _ask(command: Sequence[str]) -> str | None:
    """The program's output; None if it is missing or fails."""
    found = shutil.which(command[0])
    if found is None or not Path(found).exists():
        return None
    try:
        done = subprocess.run([found, *command[1:]], capture_output=True, text=True, timeout=ASK_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None
