"""One writer at a time in a folder, so that parallel builds (``make -j``, ninja) lose no entry and mix no files."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = ["alone_in"]


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Waits until no other process of ours works in the folder. The folder itself is locked: nothing is left in it.

    Where the file system has no locks the work goes on without.
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
