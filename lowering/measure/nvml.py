"""What the driver says about a device, through NVML by ctypes: clocks, power, temperature, throttling, other processes.

Every value is None where NVML, or the function, is missing (``nvml.h``; return code 0 is success).
"""

import contextlib
import ctypes
from typing import Any

from warpwright.lowering.measure.device import Conditions

__all__ = ["Nvml"]

SM_CLOCK, MEMORY_CLOCK = 1, 2

THROTTLE = {
    0x4: "power_cap",
    0x8: "hardware_slowdown",
    0x20: "thermal_software",
    0x40: "thermal_hardware",
    0x80: "power_brake",
}
"""Bits of ``nvmlDeviceGetCurrentClocksThrottleReasons`` that mean a slowed clock under load."""


class _Process(ctypes.Structure):
    """``nvmlProcessInfo_v2_t``."""

    _fields_ = [
        ("pid", ctypes.c_uint),
        ("used", ctypes.c_ulonglong),
        ("gpu_instance", ctypes.c_uint),
        ("compute_instance", ctypes.c_uint),
    ]


class Nvml:
    """The driver's view. Make it before the process has a context of its own, then :meth:`attach` to one device.

    Other processes are those seen that are not known to be ours. Inside a container the driver's number of our process is not
    ``os.getpid()``, or it is not listed at all: ours is the one that appeared when our context was made.
    """

    def __init__(self) -> None:
        self._handle: Any = None
        self._ours: set[int] = set()
        self._before: set[int] | None = None
        try:
            self._library: Any = ctypes.CDLL("libnvidia-ml.so.1")
        except OSError:
            self._library = None
            return
        count = ctypes.c_uint()
        if self._library.nvmlInit_v2() == 0 and self._library.nvmlDeviceGetCount_v2(ctypes.byref(count)) == 0:
            self._before = set()
            for index in range(count.value):
                handle = ctypes.c_void_p()
                if self._library.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(handle)) == 0:
                    self._before |= self._listed(handle) or set()

    def attach(self, pci_bus_id: str, own_pid: int) -> None:
        """Chooses the device, now that our context is on it."""
        handle = ctypes.c_void_p()
        if self._before is None:
            return
        if self._library.nvmlDeviceGetHandleByPciBusId_v2(pci_bus_id.encode(), ctypes.byref(handle)) != 0:
            return
        self._handle = handle
        now = self._listed(handle) or set()
        appeared = now - self._before
        self._ours = {own_pid} & now or (appeared if len(appeared) == 1 else set())

    def _listed(self, handle: Any) -> set[int] | None:
        """Process ids, as the driver numbers them, with a compute context on the device."""
        count = ctypes.c_uint(256)
        entries = (_Process * 256)()
        for name in ("nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2"):
            function = getattr(self._library, name, None)
            if function is not None and function(handle, ctypes.byref(count), entries) == 0:
                return {int(entry.pid) for entry in entries[: count.value]}
        return None

    def conditions(self) -> Conditions:
        """The device's state now."""
        seen = None if self._handle is None else self._listed(self._handle)
        return Conditions(
            sm_clock_mhz=self._integer("nvmlDeviceGetClockInfo", SM_CLOCK),
            memory_clock_mhz=self._integer("nvmlDeviceGetClockInfo", MEMORY_CLOCK),
            power_watts=self._watts("nvmlDeviceGetPowerUsage"),
            power_limit_watts=self._watts("nvmlDeviceGetEnforcedPowerLimit"),
            temperature_celsius=self._integer("nvmlDeviceGetTemperature", 0),
            throttle=self._throttle(),
            foreign_processes=None if seen is None else len(seen - self._ours),
        )

    def driver_version(self) -> str:
        """The driver's version, empty when NVML is missing."""
        text = ctypes.create_string_buffer(96)
        with contextlib.suppress(AttributeError):
            if self._library is not None and self._library.nvmlSystemGetDriverVersion(text, 96) == 0:
                return text.value.decode()
        return ""

    def _throttle(self) -> tuple[str, ...]:
        bits = ctypes.c_ulonglong()
        function = getattr(self._library, "nvmlDeviceGetCurrentClocksThrottleReasons", None)
        if self._handle is None or function is None or function(self._handle, ctypes.byref(bits)) != 0:
            return ()
        return tuple(word for bit, word in THROTTLE.items() if bits.value & bit)

    def _integer(self, name: str, *arguments: int) -> int | None:
        value = ctypes.c_uint()
        function = getattr(self._library, name, None)
        if self._handle is None or function is None:
            return None
        return int(value.value) if function(self._handle, *arguments, ctypes.byref(value)) == 0 else None

    def _watts(self, name: str) -> float | None:
        milliwatts = self._integer(name)
        return None if milliwatts is None else milliwatts / 1000
