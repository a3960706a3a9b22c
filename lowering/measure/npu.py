"""An Ascend NPU behind the device port. Not run on hardware, because there was none; contract-tested with stand-ins
for its parts.

Needs torch and torch_npu with CANN; without them the outcome is ``not_applicable`` and names what is missing. Objects come from
TileLang's launcher for Ascend (0.1.15 wheel, ``jit/adapter/wrapper.py:918-1045``): the same ``init``, ``call(pointers...,
stream)``, ``get_last_error`` as on CUDA, with an ``aclrtStream``.
"""

import importlib
import importlib.util
from typing import Any

from warpwright.lowering.measure.device import DeviceMissing, DevicePort

__all__ = ["missing_parts", "open_npu"]

PARTS = {"torch": "torch", "torch_npu": "torch_npu (Ascend's torch plug-in, which needs CANN)"}


def missing_parts() -> tuple[str, ...]:
    """The parts that this machine lacks for an NPU."""
    return tuple(words for name, words in PARTS.items() if importlib.util.find_spec(name) is None)


def open_npu(index: int = 0) -> DevicePort:
    """The NPU by index; DeviceMissing names every missing part."""
    if missing := missing_parts():
        raise DeviceMissing("no NPU on this machine: " + ", ".join(missing) + " not installed", place="npu")
    from warpwright.lowering.measure.npu_device import NpuDevice

    npu: Any = importlib.import_module("torch_npu").npu
    if not npu.is_available() or npu.device_count() <= index:
        raise DeviceMissing(f"torch_npu sees no NPU {index}", place="npu")
    return NpuDevice(npu, index)
