"""Which sessions want a device of this machine, and until when: what a session must know to be fair to the others.

A place is a file that its owner keeps locked; the kernel drops the lock when the owner dies, and whoever finds an unlocked one
removes it. Its name contains all its data. Deadlines are on the monotonic clock, which all processes of a machine share.
"""

import contextlib
import fcntl
import math
import os
import secrets
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

__all__ = ["DeviceQueue", "QueuePlace", "Wanted"]

READY, LATER = "ready", "later"


@dataclass(frozen=True, slots=True, order=True)
class Wanted:
    """One request: the session must end by ``deadline`` and takes at least ``need_seconds``.

    ``ready``: it waits now; otherwise its kernels are still being built. Ordered by deadline.
    """

    deadline: float
    name: str
    need_seconds: float
    ready: bool


class DeviceQueue:
    """All requests for one device, as files of one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def place(self, deadline: float, need_seconds: float, *, ready: bool) -> "QueuePlace":
        """A place in it, as a context manager."""
        return QueuePlace(self, self._folder, deadline, need_seconds, ready)

    def wanted(self) -> list[Wanted]:
        """All requests, the most urgent first; those of dead processes are removed."""
        try:
            names = os.listdir(self._folder)
        except FileNotFoundError:
            return []
        found = [wish for name in names if (wish := _wish(name)) is not None and self._alive(name)]
        return sorted(found)

    def room(self) -> float:
        """Until when a running session can continue without making another one late that is not late already."""
        now = time.monotonic()
        return min(_latest_starts([wish for wish in self.wanted() if wish.deadline > now]), default=math.inf)

    def _alive(self, name: str) -> bool:
        path = self._folder / name
        try:
            fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        else:
            path.unlink(missing_ok=True)
            return False
        finally:
            os.close(fd)


class QueuePlace:
    """One place in a queue; made by :meth:`DeviceQueue.place`."""

    def __init__(self, queue: DeviceQueue, folder: Path, deadline: float, need_seconds: float, ready: bool) -> None:
        self._queue = queue
        self._folder = folder
        deadline = min(deadline, 1e12)
        self._name = "_".join(
            (
                f"{deadline:.3f}",
                f"{need_seconds:.3f}",
                READY if ready else LATER,
                str(os.getpid()),
                secrets.token_hex(4),
            )
        )
        self._fd: int | None = None

    def __enter__(self) -> "QueuePlace":
        self._folder.mkdir(parents=True, exist_ok=True)
        # Locked before it gets its name: an unlocked one would count as that of a dead process.
        hidden = self._folder / f".{self._name}"
        self._fd = os.open(hidden, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._fd, fcntl.LOCK_EX)
        hidden.rename(self._folder / self._name)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(OSError):
            (self._folder / self._name).unlink()
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def is_first(self) -> bool:
        """Whether no ready request is more urgent."""
        first = next((wish for wish in self._queue.wanted() if wish.ready), None)
        return first is None or first.name == self._name

    def latest_start(self) -> float:
        """When this session must begin so that it and all later ones end in time, on the monotonic clock."""
        wishes = self._queue.wanted()
        mine = next((number for number, wish in enumerate(wishes) if wish.name == self._name), len(wishes))
        return min(_latest_starts(wishes[mine:]), default=math.inf)


def _latest_starts(wishes: Iterable[Wanted]) -> Iterable[float]:
    """When the first one must begin so that all of them end in time, one after another."""
    needed = 0.0
    for wish in wishes:
        needed += wish.need_seconds
        yield wish.deadline - needed


def _wish(name: str) -> Wanted | None:
    parts = name.split("_")
    if name.startswith(".") or len(parts) != 5:
        return None
    try:
        return Wanted(float(parts[0]), name, float(parts[1]), parts[2] == READY)
    except ValueError:
        return None
