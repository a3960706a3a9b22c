"""Which physical device an index means in this process: what a lease is named by. Opens no context, so that no neighbour notices.

Runs in a child: even this much of a driver has no place in a process that forks or serves.
"""

import ctypes
import uuid
from typing import Any

__all__ = ["device_identity"]


def device_identity(device: dict[str, Any]) -> str:
    """The device's UUID as the driver tells it (``GPU-...``, also of a MIG slice), the same whatever ``CUDA_VISIBLE_DEVICES``.

    Empty where there is none: an NPU has no UUID, and a driver may be missing or too old.
    """
    if device.get("kind") != "cuda":
        return str(device.get("uuid", ""))
    try:
        driver = ctypes.CDLL("libcuda.so.1")
        read = getattr(driver, "cuDeviceGetUuid_v2", None) or driver.cuDeviceGetUuid
        ordinal, value = ctypes.c_int(), (ctypes.c_ubyte * 16)()
        failed = (
            driver.cuInit(0)
            or driver.cuDeviceGet(ctypes.byref(ordinal), int(device.get("index", 0)))
            or read(ctypes.byref(value), ordinal)
        )
    except (OSError, AttributeError):
        return ""
    return "" if failed else f"GPU-{uuid.UUID(bytes=bytes(value))}"
