"""One writer at a time in a folder, so that parallel builds (``make -j``, ninja) lose no entry and mix no files."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = ["alone_in"]


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Waits until no other Warpwright process works in the folder. The folder itself is locked, so no lock file is left in it.

    On a file system without locks the work continues without one.
    """
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # a network file system without locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        with suppress(OSError):
            fcntl.flock(
                handle, fcntl.LOCK_UN
            )  # closing is not enough: a child that was forked meanwhile has the handle too
        os.close(handle)
