"""A device lease: one measuring session per device, a file lock that the kernel drops when its holder dies.

Waiting sessions have a place in the device's queue (:mod:`warpwright.tuning.measure.device_queue`): the one whose time ends first
comes first.
"""

import fcntl
import math
import os
import re
import tempfile
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Any

from warpwright.solver.domain.errors import WarpwrightError
from warpwright.tuning.measure.device_queue import DeviceQueue

__all__ = ["DeviceBusy", "DeviceLease", "lease_name", "queue_of_device"]

FOLDER = "WARPWRIGHT_LEASES"
WAIT_SECONDS = 0.1


class DeviceBusy(WarpwrightError):
    """Another session holds the device."""

    code = "device-busy"


class DeviceLease:
    """Exclusive use of one device among the processes of this machine (that share the lease folder).

    Args:
        device: name of the device.
        patience_seconds: how long to wait for it.
        deadline: when the session must have ended, on the monotonic clock; the one with the least time comes first.
        need_seconds: minimum time of the session.
        cancel: ends the waiting.
        folder: default: ``WARPWRIGHT_LEASES``, else one in the temporary folder for each user.
    """

    def __init__(
        self,
        device: str,
        *,
        patience_seconds: float = 0.0,
        deadline: float = math.inf,
        need_seconds: float = 0.0,
        cancel: threading.Event | None = None,
        folder: Path | None = None,
    ) -> None:
        self.device = device
        self.patience_seconds = patience_seconds
        self.queue = queue_of_device(device, folder)
        self._deadline = deadline
        self._need = need_seconds
        self._cancel = cancel or threading.Event()
        self._path = _folder(folder) / (_file_name(device) + ".lock")
        self._fd: int | None = None

    def __enter__(self) -> "DeviceLease":
        self._path.parent.mkdir(parents=True, exist_ok=True)
        fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            self._wait(fd)
        except BaseException:
            os.close(fd)
            raise
        os.truncate(fd, 0)
        os.write(fd, f"{os.getpid()}\n".encode())
        self._fd = fd
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _wait(self, fd: int) -> None:
        until = time.monotonic() + self.patience_seconds
        with self.queue.place(self._deadline, self._need, ready=True) as place:
            while not (place.is_first() and _locked(fd)):
                if time.monotonic() >= until or self._cancel.wait(min(WAIT_SECONDS, self.patience_seconds)):
                    raise DeviceBusy(f"another session measures on {self.device}", place=self.device)


def lease_name(options: dict[str, Any], identity: str = "") -> str:
    """The name of a device's lease: its identity, which ``options`` may also have, else how it is opened."""
    return identity or str(
        options.get("uuid") or f"{options.get('kind')}-{options.get('index', 0)}-{options.get('name', '')}"
    )


def queue_of_device(device: str, folder: Path | None = None) -> DeviceQueue:
    """The queue of requests for a device."""
    return DeviceQueue(_folder(folder) / (_file_name(device) + ".queue"))


def _locked(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _folder(folder: Path | None) -> Path:
    named = os.environ.get(FOLDER)
    return folder or Path(named or Path(tempfile.gettempdir(), f"warpwright-leases-{os.getuid()}"))


def _file_name(device: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]", "_", device)
