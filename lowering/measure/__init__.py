"""Times that can be trusted: correctness first, a named protocol, one child a device (docs/decisions/0032-protocol-gpu-1.md).

The parent's side is :func:`measure_all`; torch is imported in the device's child only.
"""

from warpwright.lowering.measure.device import Conditions, DeviceFacts
from warpwright.lowering.measure.libraries import yardstick
from warpwright.lowering.measure.protocol import GPU_1, GPU_1_RESTED, PROTOCOLS, Protocol
from warpwright.lowering.measure.result import Measured, Rounds
from warpwright.lowering.measure.runner import Job, OtherSize
from warpwright.lowering.measure.statistics import Summary, Verdict
from warpwright.tuning.measure.session import MeasureReport, measure_all

__all__ = [
    "GPU_1",
    "GPU_1_RESTED",
    "PROTOCOLS",
    "Conditions",
    "DeviceFacts",
    "Job",
    "MeasureReport",
    "Measured",
    "OtherSize",
    "Protocol",
    "Rounds",
    "Summary",
    "Verdict",
    "measure_all",
    "yardstick",
]
