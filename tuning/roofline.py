"""How much work one launch does, and what the device could do at best: what a throughput and its share of the peak are made of.

A build's report holds it, so that whoever reads a time needs neither the kernel nor the profile.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from warpwright.solver.device.element_types import tensor_rate_name
from warpwright.solver.domain import HardwareProfile, KernelGraph

__all__ = ["ROOFLINE", "Roofline", "clock_of", "roofline_in", "roofline_of"]

ROOFLINE = "roofline"
"""Key in a build's report."""


@dataclass(frozen=True, slots=True)
class Roofline:
    """Work of one launch, and the device's rates.

    ``peak_tflops`` is that of the tensor cores for operands of type ``operands`` at ``clock_mhz``, the clock of the maker's own
    figure; 0 where the kernel has no matrix product or the profile no such rate.
    """

    flops: int
    global_bytes: int
    operands: str
    peak_tflops: float
    clock_mhz: float
    bandwidth_gb_per_second: float


def roofline_of(graph: KernelGraph, profile: HardwareProfile) -> Roofline:
    """The work of ``graph`` and the rates of ``profile``; what is not known is 0."""
    operands = _operands(graph)
    rate = f"tensor_core.{operands}_macs_per_cycle"
    clock = next(
        (profile.number(path, "MHz") for path in ("sm.clock_tensor_peak", "sm.clock_boost") if profile.has(path)), 0.0
    )
    peak = 0.0
    if operands and profile.has(rate) and profile.has("sm.count"):
        peak = 2 * profile.number(rate, "MACs/cycle") * profile.number("sm.count", "count") * clock / 1e6
    bandwidth = profile.number("global.bandwidth", "GB/s") if profile.has("global.bandwidth") else 0.0
    return Roofline(graph.flops, graph.global_bytes, operands, peak, clock, bandwidth)


def _operands(graph: KernelGraph) -> str:
    """The type of the operands of most matrix products, by multiply-adds; empty without products."""
    work: Counter[str] = Counter()
    for op in graph.ops:
        if op.gemm is not None:
            work[tensor_rate_name(op.gemm.a_dtype)] += op.gemm.m * op.gemm.n * op.gemm.k * (op.runs or 1)
    return work.most_common(1)[0][0] if work else ""


def roofline_in(report: Mapping[str, object]) -> Roofline | None:
    """The roofline that a build's report holds; None where it is older than such."""
    found = report.get(ROOFLINE)
    if not isinstance(found, Mapping):
        return None
    return Roofline(
        flops=int(_number(found, "flops")),
        global_bytes=int(_number(found, "global_bytes")),
        operands=str(found.get("operands") or ""),
        peak_tflops=_number(found, "peak_tflops"),
        clock_mhz=_number(found, "clock_mhz"),
        bandwidth_gb_per_second=_number(found, "bandwidth_gb_per_second"),
    )


def clock_of(measurement: Mapping[str, object]) -> float | None:
    """The clock under the measured load in MHz; None where it was not recorded."""
    after = measurement.get("after")
    clock = after.get("sm_clock_mhz") if isinstance(after, Mapping) else None
    return float(clock) if isinstance(clock, int | float) else None


def _number(values: Mapping[str, object], name: str) -> float:
    value = values.get(name)
    return float(value) if isinstance(value, int | float) else 0.0
