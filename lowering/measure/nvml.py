"""What the driver says about a device, through NVML by ctypes: clocks, power, temperature, throttling, other processes.

Every value is None where NVML, or the function, is missing (``nvml.h``; return code 0 is success).
"""

import contextlib
import ctypes
from typing import Any

from lowering.measure.device import Conditions

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
    """One device by its PCI bus id. Other processes are those seen that are not known to be ours."""

    def __init__(self, pci_bus_id: str) -> None:
        self._handle: Any = None
        self._ours: set[int] = set()
        try:
            self._library: Any = ctypes.CDLL("libnvidia-ml.so.1")
        except OSError:
            self._library = None
            return
        handle = ctypes.c_void_p()
        if self._library.nvmlInit_v2() == 0:
            found = self._library.nvmlDeviceGetHandleByPciBusId_v2(pci_bus_id.encode(), ctypes.byref(handle))
            self._handle = handle if found == 0 else None

    def processes(self) -> set[int] | None:
        """Process ids, as the driver numbers them, with a compute context on the device."""
        if self._handle is None:
            return None
        count = ctypes.c_uint(256)
        entries = (_Process * 256)()
        for name in ("nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2"):
            function = getattr(self._library, name, None)
            if function is not None and function(self._handle, ctypes.byref(count), entries) == 0:
                return {int(entry.pid) for entry in entries[: count.value]}
        return None

    def claim(self, before: set[int] | None, own_pid: int) -> None:
        """Learns which process id is ours: the one that appeared when our context was made.

        Inside a container the driver's number is not ``os.getpid()``, or our own process is not listed at all.
        """
        now = self.processes()
        if before is None or now is None:
            return
        appeared = now - before
        self._ours = {own_pid} & now or (appeared if len(appeared) == 1 else set())

    def conditions(self) -> Conditions:
        """The device's state now."""
        seen = self.processes()
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
