"""Makes a lock entry from the result of a tuning."""

import os
from collections.abc import Mapping
from pathlib import Path

from pydantic import JsonValue

from warpwright.errors import LockError
from warpwright.graphs import read_kernel
from warpwright.kernel_file import KernelFile
from warpwright.lock.document import LockEntry
from warpwright.result import Result
from warpwright.solver.domain import HardwareProfile, digest_bytes
from warpwright.toolchains import toolchain_of

__all__ = ["entry_of"]


def entry_of(
    result: Result,
    kernel: KernelFile,
    profile: HardwareProfile,
    *,
    file: Path,
    lock: Path,
    function: str | None = None,
    settings: Mapping[str, JsonValue] | None = None,
    profile_file: Path | None = None,
) -> LockEntry:
    """The winner of a tuning as an entry of the lock file at ``lock``.

    Raises:
        LockError: ``lock-nothing`` if no candidate is usable or none is known to be better; ``lock-variant`` if the kernel
            file has fewer variants now.
    """
    best = result.best
    if best is None:
        why = f"{result.ending}, {result.note}" if result.note else result.ending
        raise LockError(f"nothing of {result.kernel} can be locked: {why}", code="lock-nothing", place=str(file))
    if best.variant >= len(kernel.variants):
        raise LockError(f"{file} no longer has variant {best.variant}", code="lock-variant", place=str(file))
    variant = kernel.variants[best.variant]
    _, ir_hash = read_kernel(variant.ir, profile)
    source = best.products.get("tilelang_source")
    return LockEntry(
        kernel=result.kernel,
        file=_beside(file, lock),
        function=function,
        settings=dict(settings or {}),
        params=dict(variant.params),
        profile=profile.name,
        profile_digest=profile.digest,
        ir_hash=ir_hash,
        kind=best.kind,
        schedule=best.schedule,
        certificate=best.certificate,
        source_digest=digest_bytes(source) if source else "",
        toolchain=toolchain_of(profile.family),
        note=result.note,
        time_ns=best.time_ns,
        build_options=result.build_options,
        profile_file=_beside(profile_file, lock) if profile_file is not None else None,
    )


def _beside(file: Path, lock: Path) -> str:
    """The file's path from the lock file's folder, so that the repository can be anywhere."""
    return Path(os.path.relpath(file.resolve(), lock.resolve().parent)).as_posix()
