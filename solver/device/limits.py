"""What a device can hold: whole numbers read once from the hardware profile, for the rules and the forecast alike.

Every number is read by path and unit, so that a closed problem has no profile and reads nothing later.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

from warpwright.solver.domain.profile import HardwareProfile

__all__ = [
    "LARGEST_DEPTH",
    "USEFUL_REGISTERS",
    "WARPGROUP",
    "WARPGROUP_THREADS",
    "WARP_THREADS",
    "DeviceLimits",
    "read_limits",
]

WARP_THREADS = 32
WARPGROUP = 4
"""Warps of a warpgroup: they start at a multiple of four, issue WGMMA together and reallocate registers together."""
WARPGROUP_THREADS = WARPGROUP * WARP_THREADS

USEFUL_REGISTERS = 240
"""Budget above which no gain was seen: ptxas gives a thread at most 255, and libraries stop at 240."""

LARGEST_DEPTH = 12
"""Versions of a buffer that searches offer on their own; a pin may go beyond. At twelve every latency in the profiles is
long covered."""

DEFAULT_LOAD_LATENCY_FACTOR = 2.0
"""Loads are planned at this multiple of the idle TMA latency if the profile has no number.

Origin: measured on one H200 with a bf16 matrix product of 8192 cubed. For six tile shapes the throughput stops growing at the
depth that this factor gives (128x256x64: 3, 128x128x64: 4, 64x256x64: 4, 128x192x64: 3), and at the idle latency one depth
less is 10 to 25 % slower: other SMs share L2, so a loaded load takes about twice as long.
"""


DEFAULT_PRODUCT_REGISTERS = 26
"""Where the profile does not say otherwise. ptxas C7602 asks for ``N/2 + 26`` registers for one warpgroup product; bisected
with ptxas 13.0.88, 64 and 128 accumulators a thread compile without spills at 96 and 160 registers and spill at 88 and 152."""


@dataclass(frozen=True, slots=True)
class DeviceLimits:
    """Limits of one device. Registers are 32-bit and, where not said otherwise, per thread."""

    arch: str
    tma: bool
    wgmma: bool
    tcgen05: bool
    setmaxnreg: bool
    block_threads: int
    block_registers: int
    sm_registers: int
    thread_registers: int
    register_unit_per_warp: int
    """Registers are allocated to warps in multiples of this."""
    product_registers: int
    """Registers of a thread in addition to its live buffers at a matrix product: addresses, descriptors, loop counters."""
    setmaxnreg_minimum: int
    setmaxnreg_maximum: int
    setmaxnreg_step: int
    shared_bytes_per_block: int
    shared_bytes_per_sm: int
    shared_bytes_reserved: int
    sm_warps: int
    sm_blocks: int
    named_barriers: int
    tensor_columns: int
    tensor_lanes: int
    tensor_minimum_columns: int
    barrier_latency_cycles: int
    proxy_fence_cycles: int
    """From the last generic read of shared memory to the end of ``fence.proxy.async``: until the reads have been performed."""
    load_latency_cycles: int
    """Idle TMA latency from issue to the first bytes' arrival."""
    load_latency_percent: int
    """Loads are planned at this percentage of their idle latency."""

    def launch_registers(self, threads: int, min_blocks: int, largest_budget: int = 0) -> int:
        """Registers per thread at launch: ``floor(registers / (threads * blocks) / 8) * 8``, at most the largest budget.

        The rule of ``__launch_bounds__`` as ptxas 13.0.88 applies it; never above what a thread can address. 0 for
        ``largest_budget`` means that no role reallocates registers.
        """
        cap = min(self.block_registers // (threads * max(min_blocks, 1)) // 8 * 8, self.thread_registers)
        return min(cap, largest_budget) if largest_budget > 0 else cap


@lru_cache(maxsize=32)
def read_limits(profile: HardwareProfile) -> DeviceLimits:
    """The limits of a CUDA profile.

    Raises:
        ProfileError: a number that every CUDA schedule depends on is missing, unknown or in another unit.
    """

    def optional(path: str, unit: str, otherwise: int) -> int:
        return profile.integer(path, unit) if profile.has(path) else otherwise

    def cycles(path: str) -> int:
        return math.ceil(profile.number(path, "cycles")) if profile.has(path) else 0

    factor = DEFAULT_LOAD_LATENCY_FACTOR
    if profile.has("tma.load_latency_factor"):
        factor = profile.number("tma.load_latency_factor", "ratio")
    return DeviceLimits(
        arch=profile.arch,
        tma=profile.flag("features.tma"),
        wgmma=profile.flag("features.wgmma"),
        tcgen05=profile.flag("features.tcgen05"),
        setmaxnreg=profile.flag("features.setmaxnreg"),
        block_threads=profile.integer("block.max_threads", "threads"),
        block_registers=profile.integer("block.max_registers", "registers"),
        sm_registers=profile.integer("sm.registers", "registers"),
        thread_registers=profile.integer("thread.max_registers", "registers"),
        register_unit_per_warp=profile.integer("registers.allocation_unit_per_warp", "registers"),
        product_registers=optional("model.base_registers", "registers", DEFAULT_PRODUCT_REGISTERS),
        setmaxnreg_minimum=optional("setmaxnreg.minimum", "registers", 0),
        setmaxnreg_maximum=optional("setmaxnreg.maximum", "registers", 0),
        setmaxnreg_step=optional("setmaxnreg.step", "registers", 8),
        shared_bytes_per_block=profile.integer("shared.per_block", "bytes"),
        shared_bytes_per_sm=profile.integer("shared.per_sm", "bytes"),
        shared_bytes_reserved=profile.integer("shared.reserved_per_block", "bytes"),
        sm_warps=profile.integer("sm.max_warps", "warps"),
        sm_blocks=profile.integer("sm.max_blocks", "blocks"),
        named_barriers=profile.integer("barriers.named_available", "count"),
        tensor_columns=optional("tensor_memory.columns", "columns", 0),
        tensor_lanes=optional("tensor_memory.lanes", "lanes", 0),
        tensor_minimum_columns=optional("tensor_memory.minimum_columns", "columns", 32),
        barrier_latency_cycles=cycles("mbarrier.latency"),
        proxy_fence_cycles=cycles(
            "fence.proxy_async" if profile.has("fence.proxy_async") else "shared.round_trip_latency"
        ),
        load_latency_cycles=cycles("tma.latency"),
        load_latency_percent=math.ceil(factor * 100),
    )
