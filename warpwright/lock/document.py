"""The lock file as a document: entries in a fixed order, one digest per entry, readable in a diff."""

import json
import os
import shlex
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from warpwright.errors import LockError
from warpwright.lock.exclusive import alone_in
from warpwright.solver.domain import Certificate, DocumentError, Schedule, digest_text, documents

__all__ = ["LOCK_NAME", "LockEntry", "merged", "read_lock", "update_lock", "write_lock"]

SCHEMA = "warpwright.lock/1"
LOCK_NAME = "warpwright.lock"


@dataclass(frozen=True, slots=True)
class LockEntry:
    """One kernel on one device: the request, the choice, and the digests that a build compares.

    ``schedule`` is None where one of the compiler's own choices won (``kind`` names it).
    """

    kernel: str
    file: str
    """Path of the kernel file, relative to the lock file's folder."""
    function: str | None
    settings: Mapping[str, JsonValue]
    params: Mapping[str, JsonValue]
    """Parameters of the chosen variant, ``settings`` included."""
    profile: str
    profile_digest: str
    ir_hash: str
    kind: str
    schedule: Schedule | None
    certificate: Certificate | None
    source_digest: str
    """Digest of the TileLang source with the schedule in it; empty if there is none."""
    toolchain: str
    note: str
    time_ns: float | None
    build_options: tuple[str, ...] = ()
    """Options of the build that change how the kernel rounds; older files have none."""
    profile_file: str | None = None
    """Path of the user's own profile, relative to the lock file's folder; None for a built-in one."""

    @property
    def place(self) -> tuple[str, str, str, str]:
        """What the entry is for; there is one entry per place."""
        return self.file, self.function or "", json.dumps(dict(self.settings), sort_keys=True), self.profile

    @property
    def relock(self) -> str:
        """The command that locks this kernel again."""
        words = ["warpwright", "lock", self.file, "--profile", self.profile_file or self.profile]
        words += ["--function", self.function] if self.function else []
        for name, value in self.settings.items():
            words += ["--set", f"{name}={value if isinstance(value, str) else json.dumps(value)}"]
        for option in self.build_options:
            words += ["--build-option", option]
        return shlex.join(words)

    def body(self) -> dict[str, Any]:
        """The entry as JSON values, without its digest."""
        return {
            "kernel": self.kernel,
            "file": self.file,
            "function": self.function,
            "settings": dict(self.settings),
            "params": dict(self.params),
            "profile": self.profile,
            "profile_digest": self.profile_digest,
            "ir_hash": self.ir_hash,
            "kind": self.kind,
            "schedule": documents.dump(self.schedule) if self.schedule is not None else None,
            "certificate": documents.dump(self.certificate) if self.certificate is not None else None,
            "source_digest": self.source_digest,
            "toolchain": self.toolchain,
            "note": self.note,
            "time_ns": self.time_ns,
            "build_options": list(self.build_options),
            **({"profile_file": self.profile_file} if self.profile_file is not None else {}),
        }


def update_lock(path: Path, entries: Iterable[LockEntry]) -> None:
    """Puts the entries into the file and keeps the others. Several processes may do this at once.

    Raises:
        LockError: as :func:`read_lock`, if the file exists.
    """
    with alone_in(path.resolve().parent):
        write_lock(path, merged(read_lock(path) if path.exists() else (), entries))


def write_lock(path: Path, entries: Iterable[LockEntry]) -> None:
    """Writes the file in one step, entries sorted, so that an unchanged choice gives an unchanged file."""
    rows = []
    for entry in sorted(entries, key=lambda each: each.place):
        body = entry.body()
        rows.append({**body, "digest": _digest(body)})
    text = json.dumps({"schema": SCHEMA, "entries": rows}, indent=1, sort_keys=True) + "\n"
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, prefix=path.name, delete=False) as draft:
        draft.write(text)
    os.chmod(draft.name, path.stat().st_mode & 0o777 if path.exists() else 0o644)
    os.replace(draft.name, path)


def read_lock(path: Path) -> tuple[LockEntry, ...]:
    """The entries of a lock file, each checked against its digest.

    Raises:
        LockError: ``lock-missing``, ``lock-conflict`` (of a merge), ``lock-not-json``, ``lock-schema``, ``lock-damaged``
            (digest), ``lock-duplicate``, ``lock-invalid``.
    """
    try:
        text = path.read_text("utf-8")
        _check_merged(text, path)
        document = json.loads(text)
    except OSError as error:
        raise LockError(f"cannot read {path}: {error}", code="lock-missing", place=str(path)) from error
    except (ValueError, RecursionError) as error:
        raise LockError(f"{path} is not JSON: {error}", code="lock-not-json", place=str(path)) from error
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise LockError(f"{path} is not a {SCHEMA} document", code="lock-schema", place=str(path))
    rows = document.get("entries")
    if not isinstance(rows, list):
        raise LockError(f"{path} has no entries", code="lock-invalid", place="/entries")
    entries = tuple(_entry(row, number) for number, row in enumerate(rows))
    for number, entry in enumerate(entries):
        if any(entry.place == other.place for other in entries[:number]):
            message = f"{path} names {entry.file} for {entry.profile} twice; remove one of the two entries"
            raise LockError(message, code="lock-duplicate", place=f"/entries/{number}")
    return entries


def merged(old: Iterable[LockEntry], new: Iterable[LockEntry]) -> tuple[LockEntry, ...]:
    """The old entries, replaced by the new ones for the same places."""
    return tuple({entry.place: entry for entry in (*old, *new)}.values())


def _check_merged(text: str, path: Path) -> None:
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith(("<<<<<<< ", "=======", ">>>>>>> ")):
            raise LockError(
                f"{path} has an unresolved merge at line {number}; keep one side (each entry has its own digest) and run "
                "warpwright lock for the kernels of the other",
                code="lock-conflict",
                place=f"{path}:{number}",
            )


def _entry(row: Any, number: int) -> LockEntry:
    place = f"/entries/{number}"
    if not isinstance(row, dict):
        raise LockError("an entry is a JSON object", code="lock-invalid", place=place)
    body = {key: value for key, value in row.items() if key != "digest"}
    if row.get("digest") != _digest(body):
        raise LockError(
            f"entry {number} ({row.get('kernel')}) was changed by hand or damaged: its digest differs",
            code="lock-damaged",
            place=place,
        )
    try:
        schedule, certificate = body.pop("schedule"), body.pop("certificate")
        options = tuple(map(str, body.pop("build_options", ())))
        return LockEntry(
            schedule=documents.load(Schedule, schedule) if schedule is not None else None,
            certificate=documents.load(Certificate, certificate) if certificate is not None else None,
            build_options=options,
            **body,
        )
    except (KeyError, TypeError, DocumentError) as error:
        raise LockError(f"entry {number} is invalid: {error}", code="lock-invalid", place=place) from error


def _digest(body: Mapping[str, Any]) -> str:
    return digest_text(json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False))
