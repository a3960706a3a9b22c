"""The roofline floor: a time below it cannot be right."""

from collections.abc import Mapping

from warpwright.solver.domain import HardwareProfile, KernelGraph

__all__ = ["FLOOR", "floor_in", "floor_ns"]

FLOOR = "floor_ns"
"""Key in a build's report: what no launch of it can beat on its device."""

MARGIN = 0.8
"""Tolerance of the floor: boost clocks and bandwidths of real boards exceed their data sheets by a few percent."""


def floor_ns(graph: KernelGraph, profile: HardwareProfile) -> float:
    """Nanoseconds that no launch can beat on this device; 0 if the graph or the profile does not say enough.

    Memory: every tensor moved once at the profile's bandwidth (the protocol flushes the L2 cache before each run). Compute:
    all floating-point operations at the fastest tensor-core rate that the profile knows for any type.
    """
    memory = compute = 0.0
    if graph.global_bytes and profile.has("global.bandwidth"):
        memory = graph.global_bytes / profile.number("global.bandwidth", "GB/s")
    rates = [
        float(quantity.value)
        for quantity in profile.quantities
        if quantity.path.startswith("tensor_core.") and quantity.path.endswith("_macs_per_cycle") and quantity.value
    ]
    if graph.flops and rates and profile.has("sm.count") and profile.has("sm.clock_boost"):
        per_nanosecond = (
            2.0 * max(rates) * profile.number("sm.count", "count") * profile.number("sm.clock_boost", "MHz") / 1e3
        )
        compute = graph.flops / per_nanosecond
    return MARGIN * max(memory, compute)


def floor_in(report: Mapping[str, object]) -> float:
    """The floor that a build's report holds; 0 where it is older than such."""
    floor = report.get(FLOOR)
    return float(floor) if isinstance(floor, int | float) else 0.0
