"""Batch files: JSON lines that name kernels become job submissions, one per line. Kernel files are read here, on the user's side.

A Python file is a batch of all its kernels.

A line is an object with ``file`` (a kernel file, relative to the batch file, with ``function`` and ``settings``), or with a job
submission's own ``ir`` or ``variants``. Any other key goes into the submission: ``label``, ``profile``, ``effort``, ``priority``.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from warpwright.kernel_file import KernelFile, read_kernel_file, read_kernels
from warpwright.solver.domain import DocumentError, HardwareProfile, documents
from warpwright.solver.profiles import load_profile
from warpwright.tuning.children import ChildPool, users_environment

__all__ = ["batch_lines", "batch_text"]


def batch_text(
    path: Path,
    profile: HardwareProfile | None,
    *,
    effort: str | None = None,
    function: str | None = None,
    settings: Mapping[str, JsonValue] | None = None,
    tell: Callable[[str], None] = lambda line: None,
    pool: ChildPool | None = None,
) -> bytes:
    """The body of the request: the same file gives the same bytes, and so the same batch.

    ``function`` and ``settings`` are for a Python file; ``tell`` gets a line for each of its kernels that cannot be read.

    Raises:
        DocumentError: ``batch-unreadable``, ``batch-line-invalid`` with the line, ``batch-no-profile``.
        KernelFileError: a kernel file that cannot be read.
    """
    with nullcontext(pool) if pool is not None else ChildPool(1, environment=users_environment()) as children:
        if path.suffix == ".py":
            kernels, unread = read_kernels(path, function=function, settings=settings, pool=children)
            for line in unread:
                tell(line)
            entries = [_of_kernel(kernel, {}, path.name, profile, effort, str(path)) for kernel in kernels]
        else:
            entries = list(batch_lines(path, profile, effort, children))
        lines = [json.dumps(line, sort_keys=True) for line in entries]
    return "".join(line + "\n" for line in lines).encode()


def batch_lines(
    path: Path, profile: HardwareProfile | None, effort: str | None, pool: ChildPool
) -> Iterator[dict[str, Any]]:
    """The submissions of a batch file, in order."""
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DocumentError(f"cannot read {path}: {error}", code="batch-unreadable", place=str(path)) from error
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            yield _submission(line, path, number, profile, effort, pool)


def _submission(
    line: str, path: Path, number: int, profile: HardwareProfile | None, effort: str | None, pool: ChildPool
) -> dict[str, Any]:
    place = f"{path.name}:{number}"
    try:
        entry = json.loads(line)
    except ValueError as error:
        raise DocumentError(f"line {number} is not JSON: {error}", code="batch-line-invalid", place=place) from error
    if not isinstance(entry, dict) or not {"file", "ir", "variants"} & entry.keys():
        raise DocumentError(
            f"line {number} is not an object with 'file', 'ir' or 'variants'", code="batch-line-invalid", place=place
        )
    if "file" not in entry:
        return _completed(entry, profile, effort, place)
    file, function, settings = entry.pop("file"), entry.pop("function", None), entry.pop("settings", {})
    kernel = read_kernel_file(path.parent / file, function=function, settings=settings, pool=pool)
    return _of_kernel(kernel, entry, str(file), profile, effort, place)


def _completed(
    entry: dict[str, Any], profile: HardwareProfile | None, effort: str | None, place: str
) -> dict[str, Any]:
    if effort is not None:
        entry.setdefault("effort", effort)
    device = _device(entry.pop("profile", None), profile, place)
    entry["profile"] = documents.dump(device) if isinstance(device, HardwareProfile) else device
    return entry


def _of_kernel(
    kernel: KernelFile,
    entry: dict[str, Any],
    file: str,
    profile: HardwareProfile | None,
    effort: str | None,
    place: str,
) -> dict[str, Any]:
    """The submission of a kernel that was read."""
    entry = _completed(entry, profile, effort, place)
    entry.setdefault("label", f"{file}:{kernel.function}" if kernel.function else file)
    entry["name"] = kernel.name
    entry["variants"] = [
        {
            "ir": variant.ir,
            "params": dict(variant.params),
            **({"sizes": [asdict(size) for size in variant.sizes]} if variant.sizes else {}),
        }
        for variant in kernel.variants
    ]
    return entry


def _device(own: Any, given: HardwareProfile | None, place: str) -> HardwareProfile | dict[str, Any]:
    """The line's own profile (a name, a path or a document), else the command's."""
    if isinstance(own, dict):
        return own
    if isinstance(own, str):
        return load_profile(own)
    if given is None:
        raise DocumentError(
            "the line names no profile, and --profile was not given", code="batch-no-profile", place=place
        )
    return given
