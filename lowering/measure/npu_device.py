"""The NPU itself, through torch_npu and the Ascend runtime. Imports torch: the device's child only. Not run on hardware.

Errors are told apart by the runtime's numbers (``acl/error_codes/rt_error_codes.h``).
"""

import ctypes
import platform
from typing import Any

from warpwright.lowering.measure.device import Conditions, DeviceFacts, DeviceLost, DeviceMissing, KernelFaulted
from warpwright.lowering.measure.torch_device import TorchDevice

__all__ = ["NpuDevice"]

KERNEL_FAULTS = {507014, 507015, 507016, 507017, 507018, 507034, 507035, 507036}
"""Time-outs, exceptions and traps of AI Core, AI CPU and vector core. All others concern the device."""


class NpuDevice(TorchDevice):
    """One NPU by index; ``npu`` is torch_npu's device module."""

    kind = "npu"

    def __init__(self, npu: Any, index: int) -> None:
        super().__init__()
        try:
            self._runtime = ctypes.CDLL("libascendcl.so")
        except OSError as error:
            raise DeviceMissing("libascendcl.so (CANN) is not on the library path", place="npu") from error
        self._npu = npu
        npu.set_device(index)
        properties = npu.get_device_properties(index)
        name = str(properties.name)
        self._facts = DeviceFacts(
            name=name,
            arch=name,
            index=index,
            uuid="",
            multiprocessors=int(getattr(properties, "cube_core_num", 0)),
            memory_bytes=int(properties.total_memory),
            l2_bytes=int(getattr(properties, "L2_cache_size", 0)),
            driver="",
            software={"torch": str(self._torch.__version__), "python": platform.python_version()},
        )
        self.make_flush_buffer(self._facts.l2_bytes)

    def facts(self) -> DeviceFacts:
        """What the device is."""
        return self._facts

    def conditions(self) -> Conditions:
        """Nothing is read: every value is unknown, including other processes."""
        return Conditions()

    def synchronize(self) -> None:
        """Waits for the stream."""
        code = int(self._runtime.aclrtSynchronizeStream(ctypes.c_void_p(self.stream())))
        if code:
            raise KernelFaulted(f"ACL error {code}") if code in KERNEL_FAULTS else DeviceLost(f"ACL error {code}")

    def stream(self) -> Any:
        """torch's current stream as an aclrtStream."""
        return self._npu.current_stream().npu_stream

    def event(self) -> Any:
        """An NPU event."""
        return self._npu.Event(enable_timing=True)
