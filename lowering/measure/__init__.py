"""Times that can be trusted: correctness first, a named protocol, one child per device (docs/decisions/0032-protocol-gpu-1.md).

The parent's side is ``tuning.measure``; torch is imported in the device's child only.
"""

from warpwright.lowering.measure.device import Conditions, DeviceFacts
from warpwright.lowering.measure.libraries import yardstick
from warpwright.lowering.measure.protocol import GPU_1, GPU_1_RESTED, PROTOCOLS, Protocol
from warpwright.lowering.measure.result import Measured, Rounds
from warpwright.lowering.measure.runner import MeasureJob, OtherSize
from warpwright.lowering.measure.statistics import Summary, Verdict

__all__ = [
    "GPU_1",
    "GPU_1_RESTED",
    "PROTOCOLS",
    "Conditions",
    "DeviceFacts",
    "MeasureJob",
    "Measured",
    "OtherSize",
    "Protocol",
    "Rounds",
    "Summary",
    "Verdict",
    "yardstick",
]
