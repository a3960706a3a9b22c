"""An NVIDIA GPU through torch and the driver. Imports torch: the device's child process only.

Errors are distinguished by the driver's numbers (``cuda.h``, CUresult), never by message texts.
"""

import ctypes
import os
import platform
from typing import Any

from warpwright.lowering.measure.device import Conditions, DeviceFacts, DeviceLost, DeviceMissing, KernelFaulted
from warpwright.lowering.measure.nvml import Nvml
from warpwright.lowering.measure.torch_device import TorchDevice

__all__ = ["CudaDevice"]

LOST = {46, 100, 101, 214, 220, 226, 802, 999}
"""CUresult values that concern the device: unavailable, none, invalid, ECC, NVLink, contained, not ready, unknown."""


class CudaDevice(TorchDevice):
    """One GPU by index."""

    kind = "cuda"

    def __init__(self, index: int = 0) -> None:
        super().__init__()
        self._nvml = Nvml()
        torch = self._torch
        if not torch.cuda.is_available() or torch.cuda.device_count() <= index:
            raise DeviceMissing(f"torch sees no CUDA device {index}", place="cuda")
        self._driver = ctypes.CDLL("libcuda.so.1")
        properties = torch.cuda.get_device_properties(index)
        torch.cuda.set_device(index)
        self.make_flush_buffer(int(properties.L2_cache_size))
        self.synchronize()
        self._nvml.attach(_bus_id(properties), os.getpid())
        self._facts = DeviceFacts(
            name=str(properties.name),
            arch=f"sm_{properties.major}{properties.minor}",
            index=index,
            uuid=str(getattr(properties, "uuid", "")),
            multiprocessors=int(properties.multi_processor_count),
            memory_bytes=int(properties.total_memory),
            l2_bytes=int(properties.L2_cache_size),
            driver=self._nvml.driver_version(),
            software={
                "torch": str(torch.__version__),
                "cuda": str(torch.version.cuda),
                "cudnn": str(torch.backends.cudnn.version()),
                "python": platform.python_version(),
            },
        )

    def facts(self) -> DeviceFacts:
        """What the device is."""
        return self._facts

    def conditions(self) -> Conditions:
        """Clocks, power, temperature and other processes, now."""
        return self._nvml.conditions()

    def synchronize(self) -> None:
        """Waits for the device; the driver's number says who caused an error."""
        code = int(self._driver.cuCtxSynchronize())
        if code == 0:
            return
        text = ctypes.c_char_p()
        self._driver.cuGetErrorName(code, ctypes.byref(text))
        message = f"CUDA error {code} {(text.value or b'').decode()}"
        raise DeviceLost(message) if code in LOST else KernelFaulted(message)

    def stream(self) -> Any:
        """torch's current stream as a CUstream."""
        return self._torch.cuda.current_stream().cuda_stream

    def event(self) -> Any:
        """A CUDA event."""
        return self._torch.cuda.Event(enable_timing=True)


def _bus_id(properties: Any) -> str:
    domain, bus, device = (getattr(properties, f"pci_{part}_id", 0) for part in ("domain", "bus", "device"))
    return f"{domain:08X}:{bus:02X}:{device:02X}.0"
