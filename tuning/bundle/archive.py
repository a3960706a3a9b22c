"""The archive itself: a plain tar of a manifest and binaries by digest, written the same for the same contents.

Reading trusts nothing: only regular files with the two forms of names, bounded in size and number, each with the digest that
the manifest gives; no links, no paths, no compression. Nothing of a hostile archive is left on disk.
"""

import io
import json
import re
import shutil
import tarfile
from pathlib import Path
from typing import Any

from warpwright.lowering.compile.build import artifact_damage
from warpwright.solver.domain.errors import WarpwrightError
from warpwright.solver.domain.identity import digest_bytes
from warpwright.tuning.bundle.contents import SCHEMA, Contents, binary_name, contents_of, manifest_of

__all__ = ["BundleError", "pack", "unpack"]

MANIFEST = "manifest.json"
NAME = re.compile(r"binaries/([0-9a-f]{64})\.so")

NO_FILE = ("library:", "sim:")
"""Kernels without a file: a library call by name, a kernel of the simulated device."""

MANIFEST_LIMIT_BYTES = 16 << 20
BINARY_LIMIT_BYTES = 64 << 20
TOTAL_LIMIT_BYTES = 2 << 30
FILES_LIMIT = 4096


class BundleError(WarpwrightError):
    """The file is not a bundle, or an incomplete one."""

    code = "bundle-invalid"


def pack(path: Path, contents: Contents) -> str:
    """Writes a bundle and returns its digest.

    Raises:
        BundleError: ``bundle-binary-missing`` when a candidate has no undamaged binary here.
    """
    files: dict[str, bytes] = {}
    for kernel in contents.kernels():
        if kernel.binary is not None and kernel.binary_digest.startswith("sha256:"):
            files[binary_name(kernel)] = _binary(Path(kernel.binary), kernel.binary_digest)
        elif kernel.binary is None:
            raise BundleError("a candidate was not built here", code="bundle-binary-missing")
    manifest = json.dumps(manifest_of(contents), sort_keys=True, indent=1).encode()
    with tarfile.open(path, "w:", format=tarfile.PAX_FORMAT) as archive:
        for name, data in [(MANIFEST, manifest), *sorted(files.items())]:
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(data), 0o644
            archive.addfile(entry, io.BytesIO(data))
    return contents.digest()


def unpack(path: Path, folder: Path) -> Contents:
    """Checks a bundle and writes its binaries below ``folder``, which must not exist.

    Raises:
        BundleError: ``bundle-invalid`` with what is wrong, ``bundle-too-large``, ``bundle-digest``.
    """
    try:
        with tarfile.open(path, "r:") as archive:
            manifest, files = _read(archive)
        folder.mkdir(parents=True)
        (folder / "binaries").mkdir()
        for name, data in files.items():
            (folder / name).write_bytes(data)
        contents = contents_of(manifest, folder)
        _complete(contents, files)
    except (tarfile.TarError, OSError, EOFError) as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise BundleError(f"{path.name} is not a readable bundle: {error}") from error
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise BundleError(
            f"the manifest is damaged: {type(error).__name__}: {str(error)[:300]}", place=MANIFEST
        ) from error
    except BundleError:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return contents


def _read(archive: tarfile.TarFile) -> tuple[dict[str, Any], dict[str, bytes]]:
    manifest: dict[str, Any] | None = None
    files: dict[str, bytes] = {}
    total = 0
    for count, entry in enumerate(archive):
        if count >= FILES_LIMIT:
            raise BundleError(f"more than {FILES_LIMIT} files", code="bundle-too-large")
        named = NAME.fullmatch(entry.name)
        if not entry.isreg() or entry.issparse() or (entry.name != MANIFEST and named is None):
            raise BundleError(
                f"an entry that does not belong in a bundle: {entry.name[:200]!r}", place=entry.name[:200]
            )
        limit = BINARY_LIMIT_BYTES if named else MANIFEST_LIMIT_BYTES
        total += entry.size
        if entry.size > limit or total > TOTAL_LIMIT_BYTES:
            raise BundleError(f"{entry.name} holds {entry.size} bytes", code="bundle-too-large", place=entry.name)
        data = _bytes(archive, entry)
        if named is None:
            if manifest is not None:
                raise BundleError("two manifests", place=MANIFEST)
            manifest = _manifest(data)
        elif digest_bytes(data) != f"sha256:{named.group(1)}":
            raise BundleError(
                "a binary's bytes do not match the digest in its name", code="bundle-digest", place=entry.name
            )
        else:
            files[entry.name] = data
    if manifest is None:
        raise BundleError("no manifest", place=MANIFEST)
    return manifest, files


def _bytes(archive: tarfile.TarFile, entry: tarfile.TarInfo) -> bytes:
    stream = archive.extractfile(entry)
    data = stream.read() if stream is not None else b""
    if len(data) != entry.size:
        raise BundleError(f"{entry.name} is truncated", place=entry.name)
    return data


def _manifest(data: bytes) -> dict[str, Any]:
    try:
        manifest = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise BundleError(f"the manifest is not JSON: {error}", place=MANIFEST) from error
    if not isinstance(manifest, dict) or manifest.get("schema") != SCHEMA:
        raise BundleError(f"expected a manifest of schema {SCHEMA!r}", place=MANIFEST)
    return manifest


def _complete(contents: Contents, files: dict[str, bytes]) -> None:
    """Checks that every kernel's binary is present and a complete shared object, and that there is nothing else."""
    for kernel in contents.kernels():
        named = kernel.binary or ""
        if not kernel.binary_digest.startswith("sha256:") and not named.startswith(NO_FILE):
            raise BundleError("a kernel without a binary in the bundle", place=named[:200])
    needed = {binary_name(kernel) for kernel in contents.kernels() if kernel.binary_digest.startswith("sha256:")}
    if missing := sorted(needed - files.keys()):
        raise BundleError("a binary is missing", place=missing[0])
    if unused := sorted(files.keys() - needed):
        raise BundleError("a binary that no candidate names", place=unused[0])
    for name, data in files.items():
        if damage := artifact_damage(data):
            raise BundleError(f"a binary is damaged: {damage}", code="bundle-digest", place=name)


def _binary(path: Path, digest: str) -> bytes:
    data = path.read_bytes() if path.is_file() else b""
    if digest_bytes(data) != digest:
        raise BundleError("a candidate's binary is missing or damaged", code="bundle-binary-missing", place=path.name)
    return data
