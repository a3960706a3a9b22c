"""Building from a lock file: every digest is compared, the schedule is verified again, then it is materialised and compiled.

Needs no service, no database and no solver. A difference ends the build; it never builds something else silently.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lowering.children import ChildPool, Limits, Returned
from solver.domain import HardwareProfile, WarpSchedule, digest_text, documents
from solver.profiles import load_profile
from warpwright.errors import LockError
from warpwright.graphs import read_kernel, reply_error
from warpwright.kernel_file import KernelVariant, read_kernel_file
from warpwright.legality import violations_of
from warpwright.lock.document import LockEntry, read_lock
from warpwright.toolchains import tilelang_version

__all__ = ["BuiltKernel", "build_locked", "check_entry", "check_toolchain"]

MATERIALIZE = Limits(wall_seconds=120.0)
COMPILE = Limits(wall_seconds=300.0, cpu_seconds=600.0)


@dataclass(frozen=True, slots=True)
class BuiltKernel:
    """What one entry gave: files by name, and how to launch it."""

    entry: LockEntry
    folder: Path
    files: tuple[str, ...]
    launch: dict[str, Any] | None
    arguments: tuple[dict[str, Any], ...]
    outcome: str


def build_locked(
    lock: Path,
    out: Path,
    *,
    source_only: bool = False,
    progress: Callable[[str], None] | None = None,
) -> tuple[BuiltKernel, ...]:
    """Builds every entry under ``out`` and writes ``out/manifest.json``.

    Raises:
        LockError: the file is damaged, or an entry differs from its kernel file, profile, toolchain or rules.
    """
    entries = read_lock(lock)
    built = []
    with ChildPool(1) as pool:
        for entry in entries:
            if progress is not None:
                progress(f"{entry.kernel} for {entry.profile}")
            built.append(_build(entry, lock.resolve().parent, out, pool, source_only))
    manifest = {
        "schema": "warpwright.build/1",
        "kernels": [
            {
                "kernel": each.entry.kernel,
                "profile": each.entry.profile,
                "folder": each.folder.relative_to(out).as_posix(),
                "files": list(each.files),
                "launch": each.launch,
                "arguments": list(each.arguments),
                "outcome": each.outcome,
                "build_options": list(each.entry.build_options),
            }
            for each in built
        ],
    }
    out.mkdir(parents=True, exist_ok=True)
    (out / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n", "utf-8")
    return tuple(built)


def check_entry(
    entry: LockEntry, base: Path, *, pool: ChildPool | None = None
) -> tuple[KernelVariant, HardwareProfile]:
    """The entry's variant and profile, when nothing that it rests on has changed.

    Raises:
        LockError: ``lock-toolchain``, ``lock-profile``, ``lock-variant``, ``lock-ir`` or ``lock-illegal``.
    """
    check_toolchain(entry)
    place = f"{entry.file} for {entry.profile}"
    profile = load_profile(entry.profile)
    if profile.digest != entry.profile_digest:
        raise LockError(f"the numbers of profile {entry.profile!r} have changed", code="lock-profile", place=place)
    kernel = read_kernel_file(base / entry.file, function=entry.function, settings=entry.settings, pool=pool)
    variant = next((each for each in kernel.variants if dict(each.params) == dict(entry.params)), None)
    if variant is None:
        raise LockError(
            "the kernel file has no variant with the locked parameters any more", code="lock-variant", place=place
        )
    graph, ir_hash = read_kernel(variant.ir, profile, pool=pool)
    if ir_hash != entry.ir_hash:
        raise LockError("the kernel has changed since it was locked", code="lock-ir", place=place)
    if entry.schedule is not None and (broken := violations_of(graph, profile, entry.schedule)):
        rules = "; ".join(f"{each.family}: {each.message}" for each in broken[:3])
        raise LockError(f"the locked schedule is illegal: {rules}", code="lock-illegal", place=place)
    return variant, profile


def check_toolchain(entry: LockEntry) -> None:
    """Refuses an entry that another TileLang was locked with: the same schedule may be another kernel there.

    Raises:
        LockError: ``lock-toolchain``.
    """
    if entry.toolchain != tilelang_version():
        raise LockError(
            f"locked with {entry.toolchain}, here is {tilelang_version()}",
            code="lock-toolchain",
            place=f"{entry.file} for {entry.profile}",
        )


def _build(entry: LockEntry, base: Path, out: Path, pool: ChildPool, source_only: bool) -> BuiltKernel:
    variant, profile = check_entry(entry, base, pool=pool)
    folder = out / f"{entry.kernel}-{entry.profile}"
    folder.mkdir(parents=True, exist_ok=True)
    ir, files = variant.ir, []
    if isinstance(entry.schedule, WarpSchedule):
        made = _run(pool, "materialize.warp", {"ir": ir, "schedule": documents.dump(entry.schedule)}, MATERIALIZE)
        ir, source = made["ir"], made["source"]
        if entry.source_digest and digest_text(source) != entry.source_digest:
            raise LockError(
                "the schedule gives another source than when it was locked", code="lock-source", place=entry.file
            )
        files += [_write(folder, "kernel.py", source), _write(folder, "schedule.json", documents.dumps(entry.schedule))]
    payload = {
        "ir": ir,
        "arch": profile.arch,
        "variant": entry.kind,
        "schedule": documents.dump(entry.schedule) if entry.schedule is not None else None,
        "output": str(folder.resolve()),
        "profile": documents.dump(profile),
        "source_only": source_only,
        "options": list(entry.build_options),
    }
    compiled = _run(pool, "compile.cuda", payload, COMPILE)
    outcome = compiled["outcome"]["kind"]
    if outcome != "compiled":
        raise LockError(
            f"{outcome}: {compiled['outcome'].get('message', '')}", code="lock-build-failed", place=entry.file
        )
    files.append(_write(folder, "kernel.cu", compiled["source"]))
    if compiled.get("binary"):
        made_binary = Path(compiled["binary"])
        target = folder / "kernel.so"
        if made_binary.resolve() != target.resolve():
            made_binary.replace(target)
        files.append(target.name)
    return BuiltKernel(entry, folder, tuple(files), compiled.get("launch"), tuple(compiled["arguments"]), outcome)


def _run(pool: ChildPool, task: str, payload: dict[str, Any], limits: Limits) -> dict[str, Any]:
    reply = pool.run(task, payload, limits)
    if not isinstance(reply, Returned):
        raise reply_error(reply, task)
    return reply.value


def _write(folder: Path, name: str, text: str) -> str:
    (folder / name).write_text(text, "utf-8")
    return name
