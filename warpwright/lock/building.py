"""Building from a lock file: every digest is compared, the schedule is verified again, then it is materialised and compiled.

Needs no service, no database and no solver. A difference ends the build; it never builds something else silently.
"""

import json
import os
import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from warpwright.errors import LockError
from warpwright.graphs import read_kernel, reply_error
from warpwright.kernel_file import KernelFile, KernelVariant, read_kernel_file
from warpwright.lock.document import LockEntry, read_lock
from warpwright.lock.exclusive import alone_in
from warpwright.solver.domain import HardwareProfile, Outcome, TargetFamily, WarpSchedule, digest_text, documents
from warpwright.solver.profiles import load_profile
from warpwright.toolchains import toolchain_of
from warpwright.tuning.children import ChildPool, Limits, Returned, users_environment
from warpwright.verification import Stated, verification_of

__all__ = ["BuiltKernel", "build_locked", "check_entry", "check_toolchain", "folder_names"]

MATERIALIZE = Limits(wall_seconds=120.0)
COMPILE = Limits(wall_seconds=300.0, cpu_seconds=600.0)


@dataclass(frozen=True, slots=True)
class BuiltKernel:
    """The build of one entry: files by name, and how to launch it."""

    entry: LockEntry
    folder: Path
    files: tuple[str, ...]
    launch: dict[str, Any] | None
    arguments: tuple[dict[str, Any], ...]
    outcome: str
    sources: tuple[str, ...]
    """Absolute paths of the user's files that it was built from."""


def build_locked(
    lock: Path,
    out: Path,
    *,
    source_only: bool = False,
    depfile: Path | None = None,
    progress: Callable[[str], None] | None = None,
) -> tuple[BuiltKernel, ...]:
    """Builds every entry under ``out`` and writes ``out/manifest.json``.

    ``depfile`` is written for make, ninja and CMake: it names what the manifest depends on, so that an edited kernel is noticed.

    Raises:
        LockError: the file is damaged, or an entry differs from its kernel file, profile, toolchain or rules.
    """
    entries = read_lock(lock)
    out.mkdir(parents=True, exist_ok=True)
    with alone_in(out):
        built = _built(entries, lock.resolve().parent, out, source_only, progress)
        _write_manifest(out, built)
        if depfile is not None:
            sources = {source for each in built for source in each.sources}
            depfile.write_text(_rule(out / "manifest.json", [str(lock), *sorted(sources)]), "utf-8")
    return built


def _built(
    entries: Sequence[LockEntry], base: Path, out: Path, source_only: bool, progress: Callable[[str], None] | None
) -> tuple[BuiltKernel, ...]:
    built = []
    with ChildPool(1, environment=users_environment()) as pool:
        for entry, folder in zip(entries, folder_names(entries), strict=True):
            if progress is not None:
                progress(f"{entry.kernel} for {entry.profile}")
            built.append(_build(entry, base, out / folder, pool, source_only))
    return tuple(built)


def folder_names(entries: Sequence[LockEntry]) -> tuple[str, ...]:
    """``KERNEL-PROFILE`` for each entry; entries that would share a folder get a digest of their place as a suffix."""
    plain = [re.sub(r"[^A-Za-z0-9_.-]", "_", f"{entry.kernel}-{entry.profile}") for entry in entries]
    return tuple(
        name if plain.count(name) == 1 else f"{name}-{digest_text(json.dumps(entry.place)).removeprefix('sha256:')[:8]}"
        for name, entry in zip(plain, entries, strict=True)
    )


def _rule(target: Path, sources: Sequence[str]) -> str:
    words = [re.sub(r"([ #\\])", r"\\\1", os.path.abspath(each)).replace("$", "$$") for each in (str(target), *sources)]
    return f"{words[0]}: " + " \\\n  ".join(words[1:]) + "\n"


def _write_manifest(out: Path, built: Sequence[BuiltKernel]) -> None:
    manifest = {
        "schema": "warpwright.build/1",
        "kernels": [
            {
                "kernel": each.entry.kernel,
                "profile": each.entry.profile,
                "settings": dict(each.entry.settings),
                "params": dict(each.entry.params),
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
    (out / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n", "utf-8")


def check_entry(
    entry: LockEntry, base: Path, *, pool: ChildPool | None = None
) -> tuple[KernelFile, KernelVariant, HardwareProfile]:
    """The entry's kernel file, variant and profile, if nothing that it depends on has changed.

    Raises:
        LockError: ``lock-toolchain``, ``lock-profile``, ``lock-variant``, ``lock-ir``, ``lock-illegal`` or ``lock-certificate``.
    """
    profile = load_profile(str(base / entry.profile_file) if entry.profile_file is not None else entry.profile)
    check_toolchain(entry, profile.family)
    if profile.digest != entry.profile_digest:
        raise _differs(entry, f"the numbers of profile {entry.profile!r} have changed", "lock-profile")
    kernel = read_kernel_file(base / entry.file, function=entry.function, settings=entry.settings, pool=pool)
    variant = next((each for each in kernel.variants if dict(each.params) == dict(entry.params)), None)
    if variant is None:
        raise _differs(entry, "the kernel file no longer has a variant with the locked parameters", "lock-variant")
    graph, ir_hash = read_kernel(variant.ir, profile, pool=pool)
    if ir_hash != entry.ir_hash:
        raise _differs(entry, "the kernel has changed since it was locked", "lock-ir")
    if entry.schedule is not None:
        found = verification_of(graph, profile, Stated(entry.schedule, entry.certificate))
        if found.violations:
            rules = "; ".join(f"{each.family}: {each.message}" for each in found.violations[:3])
            raise _differs(entry, f"the locked schedule is illegal: {rules}", "lock-illegal")
        if found.refused:
            fields = "; ".join(each.message for each in found.refused[:3])
            raise _differs(entry, f"the locked certificate is false: {fields}", "lock-certificate")
    return kernel, variant, profile


def check_toolchain(entry: LockEntry, family: TargetFamily) -> None:
    """Refuses an entry that was locked with another TileLang or lowering: the same schedule may give another kernel there.

    Raises:
        LockError: ``lock-toolchain``.
    """
    if entry.toolchain != (here := toolchain_of(family)):
        raise _differs(entry, f"locked with {entry.toolchain}, but {here} is installed", "lock-toolchain")


def _differs(entry: LockEntry, what: str, code: str) -> LockError:
    return LockError(f"{what}; {entry.relock} locks it again", code=code, place=f"{entry.file} for {entry.profile}")


def _build(entry: LockEntry, base: Path, folder: Path, pool: ChildPool, source_only: bool) -> BuiltKernel:
    kernel, variant, profile = check_entry(entry, base, pool=pool)
    sources = kernel.files + ((str(base / entry.profile_file),) if entry.profile_file is not None else ())
    folder.mkdir(parents=True, exist_ok=True)
    ir, files = variant.ir, []
    if isinstance(entry.schedule, WarpSchedule):
        made = _run(pool, "materialize.warp", {"ir": ir, "schedule": documents.dump(entry.schedule)}, MATERIALIZE)
        ir, source = made["ir"], made["source"]
        if entry.source_digest and digest_text(source) != entry.source_digest:
            raise _differs(entry, "the schedule gives a different source than when it was locked", "lock-source")
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
    if outcome != Outcome.COMPILED:
        raise LockError(
            f"{outcome}: {compiled['outcome'].get('message', '')}", code="lock-build-failed", place=entry.file
        )
    files.append(_write(folder, "kernel.cu", compiled["source"]))
    if compiled.get("binary"):
        files.append(_copied(Path(compiled["binary"]), folder / "kernel.so"))
    return BuiltKernel(
        entry, folder, tuple(files), compiled.get("launch"), tuple(compiled["arguments"]), outcome, sources
    )


def _run(pool: ChildPool, task: str, payload: dict[str, Any], limits: Limits) -> dict[str, Any]:
    reply = pool.run(task, payload, limits)
    if not isinstance(reply, Returned):
        raise reply_error(reply, task)
    return reply.value


def _copied(binary: Path, target: Path) -> str:
    """Copies in one step; the build itself stays in its cache, so that the next one need not compile."""
    fresh = target.with_name(f".new-{target.name}")
    shutil.copyfile(binary, fresh)
    fresh.replace(target)
    return target.name


def _write(folder: Path, name: str, text: str) -> str:
    (folder / name).write_text(text, "utf-8")
    return name
