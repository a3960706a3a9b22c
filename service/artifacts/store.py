"""Artifact files: written completely or not at all, verified whenever they are read."""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from warpwright.service.errors import Gone, NotFound, Unavailable
from warpwright.service.names import check_digest
from warpwright.solver.domain import digest_bytes

__all__ = ["ArtifactDamaged", "ArtifactStore", "ArtifactsAway"]

PROBE_BYTES = 1 << 16
"""Size of the probe: a full disk still accepts an empty file."""


class ArtifactDamaged(Gone):
    """The file's bytes do not have its digest; it was moved to quarantine and counts as a miss."""

    code = "artifact-damaged"


class ArtifactsAway(Unavailable):
    """The folder accepts no file now: its disk is full, read-only or gone. The operator of the service must act."""

    code = "artifacts-away"


class ArtifactStore:
    """Files under ``folder/ab/cdef...``. Thread-safe and process-safe: a name appears only when its bytes are complete."""

    def __init__(self, folder: Path, *, sync: bool = True) -> None:
        self.folder = folder
        self.sync = sync

    def put(self, data: bytes) -> str:
        """Store bytes and return their digest; storing the same bytes again costs nothing.

        Raises:
            ArtifactsAway: they could not be written; no part of them is left.
        """
        digest = digest_bytes(data)
        path = self._path(digest)
        try:
            if not (path.exists() and path.stat().st_size == len(data)):
                self._write(path, data)
        except OSError as error:
            raise ArtifactsAway(f"an artifact could not be stored: {error.strerror or error}") from error
        return digest

    def check(self) -> None:
        """Raise :class:`ArtifactsAway` unless a file can be written now."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.folder) as probe:
                probe.write(b"\0" * PROBE_BYTES)
                probe.flush()
        except OSError as error:
            raise ArtifactsAway(f"the artifact folder is not writable: {error.strerror or error}") from error

    def get(self, digest: str) -> bytes:
        """The bytes of a digest.

        Raises:
            NotFound: ``artifact-unknown``.
            ArtifactDamaged: the file does not match its name; it is in quarantine now.
        """
        path = self._path(check_digest(digest))
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            raise NotFound(f"there is no artifact {digest}", code="artifact-unknown") from None
        if digest_bytes(data) != digest:
            self._quarantine(path, digest)
            raise ArtifactDamaged(f"artifact {digest} is damaged; build it again")
        return data

    def has(self, digest: str) -> bool:
        """Whether a file with this digest exists; its bytes are not checked."""
        return self._path(digest).exists()

    def remove(self, digest: str) -> None:
        """Remove a file, if it exists."""
        with contextlib.suppress(FileNotFoundError):
            self._path(digest).unlink()

    def digests(self) -> Iterator[tuple[str, float]]:
        """Every stored digest with its file's modification time (seconds since 1970)."""
        for path in self.folder.glob("??/*"):
            if not path.name.startswith("."):
                with contextlib.suppress(FileNotFoundError):
                    yield f"sha256:{path.parent.name}{path.name}", path.stat().st_mtime

    def leftovers(self) -> Iterator[Path]:
        """Temporary files of writers that died."""
        yield from self.folder.glob("??/.part-*")

    def _write(self, path: Path, data: bytes) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=".part-", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                if self.sync:
                    file.flush()
                    os.fsync(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary)
            raise
        if self.sync:
            self._sync_folder(path.parent)

    def _path(self, digest: str) -> Path:
        name = digest.removeprefix("sha256:")
        return self.folder / name[:2] / name[2:]

    def _quarantine(self, path: Path, digest: str) -> None:
        place = self.folder / "quarantine"
        place.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            os.replace(path, place / digest.removeprefix("sha256:"))

    def _sync_folder(self, folder: Path) -> None:
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
