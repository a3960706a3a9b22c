"""Files of tasks by content digest: the port through which a runner's inputs and products reach whoever keeps them."""

from typing import Protocol

from warpwright.solver.domain import WarpwrightError

__all__ = ["FileMissing", "FileStore"]


class FileMissing(WarpwrightError):
    """No file with this digest is here, or its bytes are damaged."""

    code = "file-missing"


class FileStore(Protocol):
    """Keeps bytes under their digest."""

    def put(self, data: bytes) -> str:
        """Keep bytes and return their digest."""
        ...

    def get(self, digest: str) -> bytes:
        """The bytes with this digest.

        Raises:
            FileMissing: they are not here, or damaged.
        """
        ...
