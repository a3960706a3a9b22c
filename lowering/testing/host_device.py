"""The host's processor behind the device port: the torch and ctypes parts of a real device, run without one.

Kernels are shared objects that any C compiler makes, with the same three functions as a built kernel; a launch is a call.
Imports torch: children, or tests that have it.
"""

import time
from typing import Any

from warpwright.lowering.measure.device import Conditions, DeviceFacts
from warpwright.lowering.measure.torch_device import TorchDevice

__all__ = ["HostDevice"]


class _Event:
    def __init__(self) -> None:
        self.at = 0.0

    def record(self) -> None:
        self.at = time.perf_counter()

    def elapsed_time(self, other: "_Event") -> float:
        return (other.at - self.at) * 1e3


class HostDevice(TorchDevice):
    """The CPU."""

    kind = "cpu"

    def facts(self) -> DeviceFacts:
        """A device of one multiprocessor; its architecture is ``host_0``."""
        return DeviceFacts("host", "host_0", 0, "", 1, 1 << 30, 0, "", {"torch": str(self._torch.__version__)})

    def conditions(self) -> Conditions:
        """Unknown."""
        return Conditions()

    def synchronize(self) -> None:
        """Nothing to wait for: calls have ended when they return."""

    def stream(self) -> Any:
        """None."""
        return None

    def event(self) -> Any:
        """A clock reading."""
        return _Event()
