"""The state of a device according to the driver, through NVIDIA's own NVML bindings: clocks, power, temperature,
throttling, processes.

Every value is None where the bindings (``nvidia-ml-py``, extra ``kernels``), the driver's library or the function is missing:
then a measurement does not have these values.
"""

import time
from collections.abc import Callable
from typing import Any

from warpwright.lowering.measure.device import Conditions

try:
    import pynvml
except ImportError:
    pynvml = None

__all__ = ["Nvml"]

THROTTLE = {
    0x4: "power_cap",
    0x8: "hardware_slowdown",
    0x20: "thermal_software",
    0x40: "thermal_hardware",
    0x80: "power_brake",
}
"""Bits of ``nvmlDeviceGetCurrentClocksEventReasons`` that mean a slowed clock under load (``nvml.h``)."""

EVENTS = ("nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons")
"""The current name, and that of drivers before R535."""

NOT_FOUND = 6
"""``NVML_ERROR_NOT_FOUND`` of ``nvml.h``."""
CLEARING_SECONDS, CLEARING_STEP = 3.0, 0.1
"""How long to wait for other processes to disappear after our context was made: our own ended ones need a moment."""

PROCESSES = ("nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2")


class Nvml:
    """The driver's view. Create it before the process has its own context, then :meth:`attach` to one device.

    Other processes are those seen that are not known to be ours. Inside a container the driver's number of our process is not
    ``os.getpid()``, or it is not listed at all: ours is one of those that appeared when our context was made.
    """

    def __init__(self) -> None:
        self._handle: Any = None
        self._asked_at = 0
        """Time of the last query of how busy others are, in microseconds since the epoch by the driver's clock."""
        self._ours: set[int] = set()
        """Processes of which exactly one is ours: a single one if it is known which, none if ours is not listed."""
        self._before: set[int] | None = None
        if pynvml is None or _said(pynvml.nvmlInit, nothing=False) is False:
            return
        count = _said(pynvml.nvmlDeviceGetCount)
        if count is not None:
            handles = (_said(pynvml.nvmlDeviceGetHandleByIndex, index) for index in range(count))
            self._before = {pid for handle in handles if handle is not None for pid in _listed(handle) or ()}

    def attach(self, pci_bus_id: str, own_pid: int) -> None:
        """Chooses the device, now that our context is on it."""
        handle = None if self._before is None else _said(pynvml.nvmlDeviceGetHandleByPciBusId, pci_bus_id)
        if handle is None or self._before is None:
            return
        self._handle = handle
        self._asked_at = time.time_ns() // 1000
        now = _listed(handle) or set()
        self._ours = {own_pid} & now or now - self._before
        # A session's child that was ended a moment ago is listed until the driver has cleared up after it.
        until = time.monotonic() + CLEARING_SECONDS
        while self._others(_listed(handle) or set()) and time.monotonic() < until:
            time.sleep(CLEARING_STEP)

    def conditions(self) -> Conditions:
        """The device's state now."""
        if self._handle is None:
            return Conditions()
        seen = _listed(self._handle)
        others = self._others(seen or set())
        return Conditions(
            sm_clock_mhz=_said(pynvml.nvmlDeviceGetClockInfo, self._handle, pynvml.NVML_CLOCK_SM),
            memory_clock_mhz=_said(pynvml.nvmlDeviceGetClockInfo, self._handle, pynvml.NVML_CLOCK_MEM),
            power_watts=_watts(pynvml.nvmlDeviceGetPowerUsage, self._handle),
            power_limit_watts=_watts(pynvml.nvmlDeviceGetEnforcedPowerLimit, self._handle),
            temperature_celsius=_said(pynvml.nvmlDeviceGetTemperature, self._handle, pynvml.NVML_TEMPERATURE_GPU),
            throttle=_throttle(self._handle),
            foreign_processes=None if seen is None else len(others),
            foreign=tuple(_described(pid) for pid in sorted(others)),
            foreign_busy_percent=self._busy_percent(others),
        )

    def _busy_percent(self, others: set[int]) -> int | None:
        """The largest share of the multiprocessors' time that one of these processes used since the last query."""
        since, self._asked_at = self._asked_at, time.time_ns() // 1000
        if not others:
            return 0
        if not hasattr(pynvml, "nvmlDeviceGetProcessUtilization"):
            return None
        try:
            samples = pynvml.nvmlDeviceGetProcessUtilization(self._handle, since)
        except pynvml.NVMLError as error:
            # "Not found" means no sample: no process worked.
            return 0 if getattr(error, "value", None) == NOT_FOUND else None
        return max((int(sample.smUtil) for sample in samples if int(sample.pid) in others), default=0)

    def _others(self, seen: set[int]) -> set[int]:
        """Listed processes that are not ours; if ours is one of several, all but one of these."""
        return seen - {min(ours)} if (ours := seen & self._ours) else seen

    def driver_version(self) -> str:
        """The driver's version, empty if it is not known."""
        return "" if self._before is None else str(_said(pynvml.nvmlSystemGetDriverVersion, nothing=""))


def _said(function: Callable[..., Any], *arguments: Any, nothing: Any = None) -> Any:
    """NVML's answer; ``nothing`` if the driver's library or the device does not have it."""
    try:
        return function(*arguments)
    except pynvml.NVMLError:
        return nothing


def _known(names: tuple[str, ...]) -> list[Callable[..., Any]]:
    """The functions that these bindings have: each version of them knows its own."""
    return [getattr(pynvml, name) for name in names if hasattr(pynvml, name)]


def _listed(handle: Any) -> set[int] | None:
    """Process ids, as the driver numbers them, with a compute context on the device."""
    for function in _known(PROCESSES):
        entries = _said(function, handle)
        if entries is not None:
            return {int(entry.pid) for entry in entries}
    return None


def _described(pid: int) -> str:
    """A description of a process: the driver's number and, if known, its program."""
    told = _said(pynvml.nvmlSystemGetProcessName, pid, nothing="")
    name = told.decode(errors="replace") if isinstance(told, bytes) else str(told)
    return f"process {pid} ({name[:100]})" if name else f"process {pid}"


def _watts(function: Callable[..., Any], handle: Any) -> float | None:
    milliwatts = _said(function, handle)
    return None if milliwatts is None else milliwatts / 1000


def _throttle(handle: Any) -> tuple[str, ...]:
    for function in _known(EVENTS):
        bits = _said(function, handle)
        if bits is not None:
            return tuple(word for bit, word in THROTTLE.items() if bits & bit)
    return ()
