"""The files that a command line names, as values: profiles, pins, kernel files, documents."""

import json
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from warpwright.kernel_file import KernelFile, parse_setting, read_kernel_file
from warpwright.lowering.compile.options import build_options
from warpwright.solver.domain import Candidate, HardwareProfile, Infeasible, Pins, Schedule, Unknown, Verdict, documents
from warpwright.solver.domain.errors import DocumentError, PinError
from warpwright.tuning.children import ChildPool
from warpwright.verification import Stated

__all__ = [
    "build_options_of",
    "kernel_of",
    "pins_of",
    "profile_file_of",
    "profile_of",
    "read_document",
    "read_text",
    "stated_of",
    "writable_file",
    "writable_folder",
]


def profile_of(name_or_path: str) -> HardwareProfile:
    """A built-in profile or a TOML file.

    Raises:
        ProfileError: no such profile, or the document lacks a number, a unit or a source.
    """
    from warpwright.solver.profiles import load_profile

    return load_profile(name_or_path)


def profile_file_of(name_or_path: str) -> Path | None:
    """The file of the user's own profile; None for the name of a built-in one."""
    return Path(name_or_path) if Path(name_or_path).suffix in {".toml", ".json"} else None


def writable_folder(folder: Path) -> Path:
    """The folder, created if it is missing, so that a command notices before its work that it cannot write.

    Raises:
        DocumentError: ``output-unwritable``.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError as error:
        raise DocumentError(
            f"cannot write in {folder}: {error}", code="output-unwritable", place=str(folder)
        ) from error


def writable_file(file: Path) -> Path:
    """The file, its folder created if it is missing.

    Raises:
        DocumentError: ``output-unwritable``.
    """
    if file.is_dir():
        raise DocumentError(f"cannot write {file}: it is a folder", code="output-unwritable", place=str(file))
    if not file.exists() or not os.access(file, os.W_OK):
        writable_folder(file.parent)
    return file


def build_options_of(names: Sequence[str], profile: HardwareProfile) -> tuple[str, ...]:
    """The ``--build-option`` names, checked before any slow step.

    Raises:
        DocumentError: ``build-option-unknown`` or ``build-option-unsupported``.
    """
    return build_options(names, profile.family, "--build-option")


def kernel_of(
    path: Path, function: str | None, settings: Sequence[str], *, pool: ChildPool | None = None
) -> KernelFile:
    """The kernel file, its parameters overridden by the ``--set`` values."""
    return read_kernel_file(path, function=function, settings=dict(map(parse_setting, settings)), pool=pool)


def pins_of(path: Path | None, profile: HardwareProfile) -> Pins:
    """The pins document, each value in its domain on this device; no pins without one.

    Raises:
        DocumentError: not a pins document. PinError: a value outside its domain, with its place and the legal set.
    """
    if path is None:
        return Pins()
    from warpwright.solver.profiles.pin_domains import check_pin_domains

    pins: Pins = read_document(path, Pins)
    try:
        check_pin_domains(pins, profile)
    except PinError as error:
        raise PinError(f"{path.name}: {error.message}", code=error.code, place=error.place) from error
    return pins


def read_document(path: Path, document_type: Any) -> Any:
    """A document of the domain from a JSON file; errors name the file."""
    try:
        return documents.loads(document_type, read_text(path))
    except DocumentError as error:
        raise _of_file(path, error) from error


def _loaded(path: Path, document_type: Any, data: Any) -> Any:
    try:
        return documents.load(document_type, data)
    except DocumentError as error:
        raise _of_file(path, error) from error


def _of_file(path: Path, error: DocumentError) -> DocumentError:
    return DocumentError(f"{path.name}: {error.message}", code=error.code, place=error.place or str(path))


def stated_of(path: Path) -> Stated:
    """A schedule and what its file says about it: a schedule document, a verdict as ``solve --json`` prints it, or a candidate
    as ``tune --out`` writes it.

    Raises:
        DocumentError: the file is none of them, or has no schedule.
    """
    try:
        data = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise DocumentError(f"{path.name} is not JSON: {error}", code="document-not-json", place=str(path)) from error
    if isinstance(data, dict) and data.get("schema") == documents.schema_of(Verdict):
        verdict: Verdict = read_document(path, Verdict)
        if isinstance(verdict, Infeasible | Unknown):
            raise DocumentError(f"{path.name} is a verdict without a schedule: {verdict.status}", place=str(path))
        return Stated(verdict.schedule, verdict.certificate, verdict.status)
    if isinstance(data, dict) and data.get("schema") == documents.schema_of(Candidate):
        # Its products are files beside it.
        candidate: Candidate = _loaded(
            path, Candidate, {name: part for name, part in data.items() if name != "products"}
        )
        if candidate.schedule is None:
            raise DocumentError(f"{path.name} is a candidate without a schedule: {candidate.kind}", place=str(path))
        return Stated(candidate.schedule, candidate.certificate, candidate.status)
    return Stated(read_document(path, Schedule))


def read_text(path: Path) -> str:
    """The text of a user's file."""
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DocumentError(f"cannot read {path}: {error}", code="document-unreadable", place=str(path)) from error
