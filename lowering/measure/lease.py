"""A device lease: one measuring session a device, held by a file lock that the kernel drops when its holder dies."""

import fcntl
import os
import re
import tempfile
import time
from pathlib import Path
from types import TracebackType

from warpwright.solver.domain.errors import WarpwrightError

__all__ = ["DeviceBusy", "DeviceLease"]

FOLDER = "WARPWRIGHT_LEASES"
WAIT_SECONDS = 0.1


class DeviceBusy(WarpwrightError):
    """Another session holds the device."""

    code = "device-busy"


class DeviceLease:
    """Exclusive use of one device among the processes of this machine (that share the lease folder).

    The folder is ``WARPWRIGHT_LEASES``, else one in the temporary folder for each user.
    """

    def __init__(self, device: str, *, patience_seconds: float = 0.0, folder: Path | None = None) -> None:
        self.device = device
        self.patience_seconds = patience_seconds
        named = os.environ.get(FOLDER)
        self.folder = folder or Path(named or Path(tempfile.gettempdir(), f"warpwright-leases-{os.getuid()}"))
        self._fd: int | None = None

    def __enter__(self) -> "DeviceLease":
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / (re.sub(r"[^A-Za-z0-9._-]", "_", self.device) + ".lock")
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        deadline = time.monotonic() + self.patience_seconds
        while True:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                if time.monotonic() >= deadline:
                    os.close(fd)
                    raise DeviceBusy(f"another session measures on {self.device}", place=self.device) from error
                time.sleep(WAIT_SECONDS)
            else:
                break
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
