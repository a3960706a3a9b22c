"""Which physical device an index means in this process, and what it is. Opens no context, so that other sessions are
not disturbed.

A context next to another session would make that session's times contended. Runs in a child: even this much of a driver has
no place in a process that forks or serves.
"""

import ctypes
import uuid
from typing import Any

from warpwright.lowering.measure.device import DeviceFacts, DeviceMissing

__all__ = ["cuda_facts", "device_identity"]

MULTIPROCESSORS, L2_BYTES, MAJOR, MINOR = 16, 38, 75, 76
"""``CUdevice_attribute`` values of ``cuda.h``."""


def device_identity(device: dict[str, Any]) -> str:
    """The device's UUID as the driver gives it (``GPU-...``, also of a MIG slice), the same whatever ``CUDA_VISIBLE_DEVICES``.

    Empty if there is none: an NPU has no UUID, and a driver may be missing or too old.
    """
    if device.get("kind") != "cuda":
        return str(device.get("uuid", ""))
    try:
        return _uuid(*_device(int(device.get("index", 0))))
    except (DeviceMissing, AttributeError):
        return ""


def cuda_facts(index: int) -> DeviceFacts:
    """The driver's description of a GPU; without software versions, because none was loaded.

    Raises:
        DeviceMissing: there is no such GPU, or no driver.
    """
    driver, device = _device(index)
    name, memory, version = ctypes.create_string_buffer(256), ctypes.c_size_t(), ctypes.c_int()
    driver.cuDriverGetVersion(ctypes.byref(version))
    if driver.cuDeviceGetName(name, len(name), device) or driver.cuDeviceTotalMem_v2(ctypes.byref(memory), device):
        raise DeviceMissing(f"the driver does not describe CUDA device {index}", place="cuda")

    def attribute(number: int) -> int:
        value = ctypes.c_int()
        return int(value.value) if driver.cuDeviceGetAttribute(ctypes.byref(value), number, device) == 0 else 0

    return DeviceFacts(
        name=name.value.decode(errors="replace"),
        arch=f"sm_{attribute(MAJOR)}{attribute(MINOR)}",
        index=index,
        uuid=_uuid(driver, device),
        multiprocessors=attribute(MULTIPROCESSORS),
        memory_bytes=int(memory.value),
        l2_bytes=attribute(L2_BYTES),
        driver=f"CUDA {version.value // 1000}.{version.value % 1000 // 10}",
        software={},
    )


def _device(index: int) -> tuple[ctypes.CDLL, ctypes.c_int]:
    """The driver and its handle of a device."""
    handle = ctypes.c_int()
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        raise DeviceMissing(f"no CUDA driver on this machine: {error}", place="cuda") from error
    if driver.cuInit(0) or driver.cuDeviceGet(ctypes.byref(handle), index):
        raise DeviceMissing(f"the driver shows no CUDA device {index}", place="cuda")
    return driver, handle


def _uuid(driver: ctypes.CDLL, device: ctypes.c_int) -> str:
    value = (ctypes.c_ubyte * 16)()
    read = getattr(driver, "cuDeviceGetUuid_v2", None) or driver.cuDeviceGetUuid
    return "" if read(ctypes.byref(value), device) else f"GPU-{uuid.UUID(bytes=bytes(value))}"
