"""A device for the simulator: its limits, and how fast its units are, read once from a profile.

Vendor and measured numbers have their own paths; numbers that were fitted to measured landscapes are under ``model.``
with origin ``fitted``. A profile without fitted numbers still works: then the simulator uses only vendor numbers, and
each constant below has a neutral value.
"""

from dataclasses import dataclass
from functools import lru_cache

from warpwright.solver.device.element_types import tensor_rate_name
from warpwright.solver.device.limits import DeviceLimits, read_limits
from warpwright.solver.domain.errors import ProfileError
from warpwright.solver.domain.profile import HardwareProfile

__all__ = ["Machine", "machine"]


@dataclass(frozen=True, slots=True)
class Machine:
    """One device. Bandwidths are bytes per cycle of one SM, latencies are cycles, clocks are MHz."""

    limits: DeviceLimits
    sms: int
    clock: float
    tensor_macs: dict[str, float]
    mma_sync_share: float
    """Share of those rates that ``mma.sync`` reaches on a device that has a faster instruction."""
    alu: float
    shared_bytes: float
    launch_ns: float
    memory_bytes: float
    """Device memory bandwidth as bytes per cycle of one SM, with all SMs loading at once."""
    l2_capacity: float
    fill_bytes: float
    load_latency: float
    store_latency: float
    copy_bytes: float
    """Bytes per cycle that the threads of one SM move themselves (cp.async, register copies)."""
    copy_latency: float
    gemm_overhead: float
    """Issue and drain of one blocking matrix product, beyond its tensor core time."""
    tcgen05_latency: float
    """Drain of a product into tensor memory, beyond its tensor core time, until the barrier of its commit has arrived."""
    serial_latency: float
    """Cycles that each matrix instruction waits if the compiler had to serialise them."""
    spill_cycles: float
    """Cycles of the load/store path for one spilled register of one warpgroup, store and reload."""
    alu_ratio: float
    """Share of the fp32 rate that mixed arithmetic reaches: comparisons, maxima and conversions run at half of it."""
    stream_ratio: float
    """Share of the ALU and SFU that one warpgroup alone can keep busy."""
    arrive_cycles: float
    """Cycles of shared memory for the arrival of one thread at an mbarrier: arrivals are atomics on one word."""
    phase: float
    """How warpgroups share the tensor core: between taking turns (0) and running side by side (1)."""
    sync_cycles: float
    """A block-wide or role-wide thread barrier, from the last arrival on."""
    block_cycles: float
    """Start of a block: descriptors, barriers, first instruction; and its retirement."""
    copy_registers: int
    """Additional registers if the same threads also copy tiles themselves."""
    power_static: float
    power_tensor: float
    power_shared: float
    """Share of the power limit drawn at the boost clock: always, by a busy tensor core, by busy shared memory."""

    def tensor_rate(self, dtype: str) -> float:
        """Multiply-adds per cycle of one SM for operands of this type; those of half precision if the type has no own number."""
        return self.tensor_macs.get(tensor_rate_name(dtype), self.tensor_macs["bf16"])


@lru_cache(maxsize=32)
def machine(profile: HardwareProfile) -> Machine:
    """The machine of a profile.

    Raises:
        ProfileError: a number that every simulation needs is missing or unknown (tensor core rate, clock,
            shared memory, registers): also for profiles of another family than CUDA.
    """
    if not profile.has("sm.count"):
        raise ProfileError(f"profile {profile.name!r} describes no streaming multiprocessors", place="sm.count")

    def known(path: str, unit: str, otherwise: float) -> float:
        return profile.number(path, unit) if profile.has(path) else otherwise

    sms = profile.integer("sm.count", "count")
    clock = profile.number("sm.clock_boost", "MHz")
    shared_bytes = profile.number("shared.bytes_per_cycle", "bytes/cycle")
    tma_rate = known("tma.bytes_per_cycle", "bytes/cycle", shared_bytes)
    memory_bytes = profile.number("global.bandwidth", "GB/s") * 1e3 / clock / sms
    macs = {
        q.path.removeprefix("tensor_core.").removesuffix("_macs_per_cycle"): float(q.value)
        for q in profile.quantities
        if q.path.startswith("tensor_core.") and q.path.endswith("_macs_per_cycle") and q.value is not None
    }
    fill = known("model.fill_bytes_per_cycle", "bytes/cycle", tma_rate)
    if profile.has("l2.bandwidth"):
        fill = min(fill, profile.number("l2.bandwidth", "GB/s") * 1e3 / clock / sms)
    latency = known("tma.latency", "cycles", known("global.latency", "cycles", 0.0))
    return Machine(
        limits=read_limits(profile),
        sms=sms,
        clock=clock,
        tensor_macs=macs,
        mma_sync_share=known("tensor_core.mma_sync_share", "ratio", 1.0),
        alu=profile.number("alu.fp32_per_cycle", "ops/cycle"),
        shared_bytes=shared_bytes,
        launch_ns=known("model.launch", "ns", known("launch.latency", "ns", 0.0)),
        memory_bytes=memory_bytes,
        l2_capacity=known("l2.bytes", "bytes", 0.0),
        fill_bytes=fill,
        load_latency=known("model.load_latency", "cycles", latency),
        store_latency=known("tma.store_latency", "cycles", latency),
        copy_bytes=known("model.copy_bytes_per_cycle", "bytes/cycle", shared_bytes),
        copy_latency=known("model.load_latency", "cycles", latency),
        gemm_overhead=known("model.gemm_overhead", "cycles", known("wgmma.latency", "cycles", 0.0)),
        tcgen05_latency=known("tcgen05.latency", "cycles", 0.0),
        serial_latency=known("model.serial_latency", "cycles", 0.0),
        spill_cycles=known("model.spill_cycles", "cycles", 0.0),
        alu_ratio=known("model.alu_ratio", "ratio", 1.0),
        stream_ratio=known("model.stream_ratio", "ratio", 1.0),
        arrive_cycles=known("model.arrive_cycles", "cycles", 0.0),
        phase=known("model.phase", "ratio", 0.0),
        sync_cycles=known("model.sync_cycles", "cycles", known("barriers.named_latency", "cycles", 0.0)),
        block_cycles=known("model.block_cycles", "cycles", 0.0),
        copy_registers=int(known("model.copy_registers", "registers", 0)),
        power_static=known("model.power_static", "ratio", 0.0),
        power_tensor=known("model.power_tensor", "ratio", 0.0),
        power_shared=known("model.power_shared", "ratio", 0.0),
    )
