"""Scratch folders of children: their parent keeps them locked, so that those of dead parents can be removed.

A child removes its folder when its parent dies. What is killed together with its parent (a process group, a container) leaves it.
"""

import contextlib
import fcntl
import functools
import os
import shutil
import tempfile
from pathlib import Path

__all__ = ["Scratch", "sweep"]

PREFIX = "warpwright-scratch-"
"""Not the name that versions before used: they lock nothing, and may still run beside this one."""


class Scratch:
    """A new folder of this process at ``path``; the first one of a process removes those of dead processes."""

    def __init__(self) -> None:
        _sweep_once(os.getpid())
        # Locked before it gets its name: an unlocked one would count as that of a dead process.
        hidden = Path(tempfile.mkdtemp(prefix=f".{PREFIX}"))
        self._lock = os.open(hidden, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        self.path = str(hidden.rename(hidden.with_name(hidden.name.removeprefix("."))))

    def remove(self) -> None:
        """The folder with all that is in it; may be called twice."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


@functools.cache
def _sweep_once(process: int) -> None:
    sweep()


def sweep() -> int:
    """Remove this user's folders whose parent is gone, and return how many there were."""
    removed = 0
    for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                if os.fstat(folder).st_uid == os.getuid():
                    fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(path, ignore_errors=True)
                    removed += 1
            finally:
                os.close(folder)
    return removed
