"""The numbers that the simulator plays a schedule on, read once from a hardware profile.

Vendor and measured numbers come from their own paths; what had to be fitted to measured landscapes lives under ``model.``
with origin ``fitted``. A profile without fitted numbers still works: then the simulator is the plain vendor machine, and
each constant below says which neutral value that is.
"""

from dataclasses import dataclass
from functools import lru_cache

from warpwright.solver.domain import HardwareProfile, ProfileError

__all__ = ["Machine", "machine"]


@dataclass(frozen=True, slots=True)
class Machine:
    """One device. Bandwidths are bytes a cycle of one SM, latencies are cycles, clocks are MHz."""

    sms: int
    registers_per_sm: int
    max_warps: int
    max_blocks: int
    max_registers_per_thread: int
    register_unit_per_warp: int
    shared_per_sm: int
    shared_per_block: int
    shared_reserved: int
    clock: float
    tensor_macs: dict[str, float]
    exponentials: float
    alu: float
    shared_bytes: float
    barrier_latency: float
    launch_ns: float
    memory_bytes: float
    """Device memory bandwidth as bytes a cycle of one SM, with all SMs drawing at once."""
    l2_capacity: float
    fill_bytes: float
    load_latency: float
    store_latency: float
    copy_bytes: float
    """What the threads of one SM move by themselves (cp.async, register copies) in a cycle."""
    copy_latency: float
    gemm_overhead: float
    """Issue and drain of one blocking matrix product, beyond its tensor core time."""
    serial_latency: float
    """Cycles that each matrix instruction waits when the compiler had to serialise them."""
    spill_cycles: float
    """Cycles of the load/store path for one spilled register of one warpgroup, store and reload."""
    alu_ratio: float
    """Share of the fp32 rate that mixed arithmetic reaches: comparisons, maxima and conversions run at half of it."""
    stream_ratio: float
    """Share of the ALU and SFU that one warpgroup alone can keep busy."""
    arrive_cycles: float
    """Cycles of shared memory for the arrival of one thread at an mbarrier: arrivals are atomics on one word."""
    phase: float
    """Where warpgroups that share the tensor core stand between taking turns (0) and running side by side (1)."""
    fence_cycles: float
    """``fence.proxy.async`` behind reads of shared memory, one round trip of it where nothing was measured."""
    sync_cycles: float
    """A block-wide or role-wide thread barrier, from the last arrival on."""
    block_cycles: float
    """Start of a block: descriptors, barriers, first instruction; and its retirement."""
    base_registers: int
    """Registers of a thread beside its live fragments."""
    copy_registers: int
    """Registers more when the same threads also copy tiles by themselves."""
    power_static: float
    power_tensor: float
    power_shared: float
    """Share of the power limit drawn at the boost clock: always, by a busy tensor core, by busy shared memory."""

    def tensor_rate(self, dtype: str) -> float:
        """Multiply-adds a cycle of one SM for operands of this type; half precision's when the type has no own number."""
        names = {"bfloat16": "bf16", "float16": "fp16", "float32": "tf32", "int8": "int8", "uint8": "int8"}
        key = names.get(dtype, "fp8" if dtype.startswith("float8") else dtype)
        return self.tensor_macs.get(key, self.tensor_macs["bf16"])


@lru_cache(maxsize=32)
def machine(profile: HardwareProfile) -> Machine:
    """The machine of a profile.

    Raises:
        ProfileError: a number that no schedule can be played without is missing or unknown (tensor core rate, clock,
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
        if q.path.startswith("tensor_core.") and q.value is not None
    }
    fill = known("model.fill_bytes_per_cycle", "bytes/cycle", tma_rate)
    if profile.has("l2.bandwidth"):
        fill = min(fill, profile.number("l2.bandwidth", "GB/s") * 1e3 / clock / sms)
    latency = known("tma.latency", "cycles", known("global.latency", "cycles", 0.0))
    return Machine(
        sms=sms,
        registers_per_sm=profile.integer("sm.registers", "registers"),
        max_warps=profile.integer("sm.max_warps", "warps"),
        max_blocks=profile.integer("sm.max_blocks", "blocks"),
        max_registers_per_thread=profile.integer("thread.max_registers", "registers"),
        register_unit_per_warp=profile.integer("registers.allocation_unit_per_warp", "registers"),
        shared_per_sm=profile.integer("shared.per_sm", "bytes"),
        shared_per_block=profile.integer("shared.per_block", "bytes"),
        shared_reserved=profile.integer("shared.reserved_per_block", "bytes"),
        clock=clock,
        tensor_macs=macs,
        exponentials=profile.number("sfu.exponentials_per_cycle", "ops/cycle"),
        alu=profile.number("alu.fp32_per_cycle", "ops/cycle"),
        shared_bytes=shared_bytes,
        barrier_latency=known("mbarrier.latency", "cycles", 0.0),
        launch_ns=known("model.launch", "ns", known("launch.latency", "ns", 0.0)),
        memory_bytes=memory_bytes,
        l2_capacity=known("l2.bytes", "bytes", 0.0),
        fill_bytes=fill,
        load_latency=known("model.load_latency", "cycles", latency),
        store_latency=known("tma.store_latency", "cycles", latency),
        copy_bytes=known("model.copy_bytes_per_cycle", "bytes/cycle", shared_bytes),
        copy_latency=known("model.load_latency", "cycles", latency),
        gemm_overhead=known("model.gemm_overhead", "cycles", known("wgmma.latency", "cycles", 0.0)),
        serial_latency=known("model.serial_latency", "cycles", 0.0),
        spill_cycles=known("model.spill_cycles", "cycles", 0.0),
        alu_ratio=known("model.alu_ratio", "ratio", 1.0),
        stream_ratio=known("model.stream_ratio", "ratio", 1.0),
        arrive_cycles=known("model.arrive_cycles", "cycles", 0.0),
        phase=known("model.phase", "ratio", 0.0),
        fence_cycles=known("fence.proxy_async", "cycles", known("shared.round_trip_latency", "cycles", 0.0)),
        sync_cycles=known("model.sync_cycles", "cycles", known("barriers.named_latency", "cycles", 0.0)),
        block_cycles=known("model.block_cycles", "cycles", 0.0),
        base_registers=int(known("model.base_registers", "registers", 40)),
        copy_registers=int(known("model.copy_registers", "registers", 0)),
        power_static=known("model.power_static", "ratio", 0.0),
        power_tensor=known("model.power_tensor", "ratio", 0.0),
        power_shared=known("model.power_shared", "ratio", 0.0),
    )
