"""Kernel files: TileLang Python or saved IR becomes a kernel family. Python runs in a child, on the user's side.

Conventions of a Python file: top-level ``@T.prim_func`` or ``@tilelang.jit`` kernels; or a factory ``kernel(**params)`` with an
optional ``VARIANTS`` list of parameter sets, the first being the default; ``@tilelang.autotune`` brings its ``configs``.
``CHECK_SIZES``, also a list of parameter sets, names other sizes at which a measured winner is checked.
"""

import json
import os
import signal
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from warpwright.errors import KernelFileError
from warpwright.solver.domain import ExtraMissing
from warpwright.tuning.children import (
    ChildPool,
    Crashed,
    Limits,
    OutOfMemory,
    OutputExceeded,
    Refused,
    Reply,
    Returned,
    TimedOut,
    run_task,
    users_environment,
)

__all__ = [
    "KernelFile",
    "KernelSize",
    "KernelVariant",
    "parse_setting",
    "read_kernel_file",
    "read_kernels",
]

READ_SECONDS = 300.0
READ_MEMORY_BYTES = 8 << 30
IR_LIMIT_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class KernelSize:
    """A variant at another size: a description of what differs, and its IR."""

    name: str
    ir: str


@dataclass(frozen=True, slots=True)
class KernelVariant:
    """One member of the kernel family: its parameters, its IR (``tvm.ir.save_json``), and other sizes to check a winner at."""

    ir: str
    params: Mapping[str, JsonValue] = field(default_factory=dict)
    sizes: tuple[KernelSize, ...] = ()


@dataclass(frozen=True, slots=True)
class KernelFile:
    """The content of a kernel file: the kernel's name and its variants, the default first."""

    name: str
    variants: tuple[KernelVariant, ...]
    files: tuple[str, ...] = ()
    """Absolute paths that it was read from: the file, and for Python the files of the same project that it imports."""
    function: str = ""
    """Which kernel of several in its file it is, as ``function`` of :func:`read_kernel_file` names it."""


def read_kernel_file(
    path: str | Path,
    *,
    function: str | None = None,
    settings: Mapping[str, JsonValue] | None = None,
    pool: ChildPool | None = None,
) -> KernelFile:
    """Reads ``FILE.py`` (in a child, of ``pool`` if one is given) or IR JSON.

    Raises:
        KernelFileError: with a stable code, the place, and for a file that raised, the user's own traceback.
    """
    path = Path(path)
    if not path.is_file():
        raise KernelFileError(f"file not found: {path}", code="kernel-file-missing", place=str(path))
    if path.suffix != ".py":
        return _read_ir(path)
    return _read_python(path, function, dict(settings or {}), pool)


def read_kernels(
    path: str | Path,
    *,
    function: str | None = None,
    settings: Mapping[str, JsonValue] | None = None,
    pool: ChildPool | None = None,
) -> tuple[tuple[KernelFile, ...], tuple[str, ...]]:
    """Every kernel of a Python file, or of one ``function`` of it, and why others of several could not be read.

    Raises:
        KernelFileError: as :func:`read_kernel_file`; none of its kernels can be read.
    """
    path = Path(path)
    if not path.is_file():
        raise KernelFileError(f"file not found: {path}", code="kernel-file-missing", place=str(path))
    value = _asked("kernel_file.read_all", path, function, dict(settings or {}), pool)
    files = tuple(value["files"])
    kernels = tuple(
        KernelFile(each["name"], tuple(map(_variant, each["variants"])), files, each["function"])
        for each in value["kernels"]
    )
    return kernels, tuple(f"{each['function']}: {each['message']} ({each['code']})" for each in value["unread"])


def parse_setting(text: str) -> tuple[str, JsonValue]:
    """``NAME=VALUE`` with a JSON value or a bare word: ``BM=128``, ``causal=true``, ``dtype=bfloat16``.

    Raises:
        KernelFileError: ``setting-invalid``.
    """
    name, separator, value = text.partition("=")
    if not separator or not name.isidentifier():
        raise KernelFileError(f"{text!r} is not NAME=VALUE", code="setting-invalid", place="--set")
    try:
        parsed: JsonValue = json.loads({"True": "true", "False": "false", "None": "null"}.get(value, value))
    except ValueError:
        parsed = value
    return name, parsed


def _read_ir(path: Path) -> KernelFile:
    size = path.stat().st_size
    if size > IR_LIMIT_BYTES:
        raise KernelFileError(
            f"{path.name} has {size} bytes; IR of at most {IR_LIMIT_BYTES} is read",
            code="ir-too-large",
            place=str(path),
        )
    try:
        text = path.read_text("utf-8")
        json.loads(text)
    except (ValueError, RecursionError) as error:
        raise KernelFileError(f"{path.name} is not JSON: {error}", code="ir-not-json", place=str(path)) from error
    return KernelFile(path.stem, (KernelVariant(text),), (str(path.resolve()),))


def _read_python(
    path: Path, function: str | None, settings: dict[str, JsonValue], pool: ChildPool | None
) -> KernelFile:
    value = _asked("kernel_file.read", path, function, settings, pool)
    return KernelFile(value["name"], tuple(map(_variant, value["variants"])), tuple(value["files"]))


def _asked(
    task: str, path: Path, function: str | None, settings: dict[str, JsonValue], pool: ChildPool | None
) -> dict[str, Any]:
    """What the child says of the file."""
    payload = {"path": os.path.abspath(path), "function": function, "set": settings}
    limits = Limits(wall_seconds=READ_SECONDS, cpu_seconds=READ_SECONDS, memory_bytes=READ_MEMORY_BYTES)
    reply = run_task(task, payload, limits, pool=pool, environment=users_environment())
    match reply:
        case Returned(value=value):
            return value
        case Refused(error="ExtraMissing", message=message):
            raise ExtraMissing(f"{path.name} cannot be read here: {message}; saved IR needs nothing", place=str(path))
        case Refused(code=code, message=message, place=place):
            raise KernelFileError(message, code=code, place=place)
        case TimedOut():
            raise KernelFileError(
                f"{path.name} did not finish within {READ_SECONDS:g} s", code="kernel-file-timed-out", place=str(path)
            )
        case _:
            raise KernelFileError(f"{path.name} {_ending(reply)}", code="kernel-file-failed", place=str(path))


def _ending(reply: Reply) -> str:
    """A description of how the child that ran the user's file ended."""
    match reply:
        case Crashed(signal=int(number)):
            return f"ended its process by {signal.strsignal(number) or 'signal'} ({number})"
        case Crashed(exit_code=code):
            return f"ended its process with exit code {code}"
        case OutputExceeded(limit_bytes=limit):
            return f"printed more than {limit >> 20} MiB"
        case OutOfMemory(limit_bytes=limit):
            return f"used more than {limit >> 30} GiB of memory"
        case _:
            return f"could not be read: {type(reply).__name__} {getattr(reply, 'message', '')}".rstrip()


def _variant(entry: Mapping[str, Any]) -> KernelVariant:
    sizes = tuple(KernelSize(size["name"], size["ir"]) for size in entry["sizes"])
    return KernelVariant(entry["ir"], entry["params"], sizes)
