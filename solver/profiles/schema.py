"""The list of all numbers of a hardware profile: path, unit, meaning, and when a document must state it.

Readers ask for a number by path and unit (:meth:`warpwright.solver.domain.HardwareProfile.number`), so a name that is not in this
list can neither be written nor read. Adding a number is one line here and one leaf in each device's document.
"""

from dataclasses import dataclass
from enum import Enum
from functools import cache

from warpwright.solver.domain.kernel import TargetFamily

__all__ = ["UNIT_LIMITS", "WHOLE_UNITS", "Need", "PermittedNumber", "entries", "entry_at"]


class Need(Enum):
    """Whether a document must state a number."""

    KNOWN = "known"
    """Must be present with a value: no schedule can be judged without it."""
    STATED = "stated"
    """Must be present, but may be ``unknown``: a reader has a defined answer without it."""
    OPTIONAL = "optional"
    """May be left out."""


UNIT_LIMITS: dict[str, float] = {
    "GB/s": 1e6,
    "MACs/cycle": 1e6,
    "MHz": 1e5,
    "blocks": 1e4,
    "bytes": 2.0**42,
    "bytes/cycle": 1e6,
    "columns": 1e5,
    "count": 1e6,
    "cycles": 1e7,
    "flag": 1,
    "lanes": 1e5,
    "ns": 1e9,
    "ops/cycle": 1e5,
    "ratio": 1e6,
    "registers": 1e7,
    "threads": 1e5,
    "warps": 1e4,
}
"""Every unit, with the largest value that a device can have: above it a sum of products may exceed 63-bit integers."""

WHOLE_UNITS = frozenset({"blocks", "bytes", "columns", "count", "flag", "lanes", "registers", "threads", "warps"})
"""Units that count things: a fraction is an error."""


@dataclass(frozen=True, slots=True)
class PermittedNumber:
    """One permitted number. ``when`` names a flag: ``need`` holds only on devices where that flag is 1."""

    path: str
    unit: str
    need: Need
    meaning: str
    when: str = ""


def _rows(need: Need, table: str, when: str = "") -> list[PermittedNumber]:
    """Entries from lines of ``path | unit | meaning``."""
    entries_ = []
    for line in table.strip().splitlines():
        path, unit, meaning = (part.strip() for part in line.split("|"))
        entries_.append(PermittedNumber(path, unit, need, meaning, when))
    return entries_


_CUDA = [
    *_rows(
        Need.KNOWN,
        """
        sm.count | count | streaming multiprocessors that run blocks
        sm.clock_boost | MHz | highest sustained SM clock; cycles become nanoseconds by it
        sm.registers | registers | 32-bit registers of one SM
        sm.max_warps | warps | resident warps of one SM
        sm.max_blocks | blocks | resident blocks of one SM
        block.max_threads | threads | threads of one block
        block.max_registers | registers | registers one block may hold
        thread.max_registers | registers | registers one thread can address
        registers.allocation_unit_per_warp | registers | registers are handed out to warps in multiples of this
        shared.per_sm | bytes | shared memory of one SM, reserve included
        shared.per_block | bytes | most shared memory one block may ask for (opt-in), static included
        shared.reserved_per_block | bytes | shared memory the driver takes for each resident block
        shared.static_limit | bytes | most statically declared shared memory
        shared.alignment | bytes | granularity of shared memory allocation of a block
        shared.bytes_per_cycle | bytes/cycle | shared memory bandwidth of one SM
        barriers.named | count | hardware named barriers of one block
        barriers.named_available | count | named barriers left to generated code (TileLang keeps ids 0 to 2)
        features.cp_async | flag | asynchronous copy from global to shared memory
        features.tma | flag | tensor memory accelerator and mbarrier transactions
        features.clusters | flag | thread block clusters
        features.setmaxnreg | flag | register reallocation between warpgroups
        features.wgmma | flag | warpgroup matrix instructions
        features.tcgen05 | flag | fifth-generation tensor core instructions with tensor memory
        tensor_core.bf16_macs_per_cycle | MACs/cycle | dense bf16 multiply-adds of one SM, fp32 accumulation
        tensor_core.fp16_macs_per_cycle | MACs/cycle | dense fp16 multiply-adds of one SM, fp32 accumulation
        sfu.exponentials_per_cycle | ops/cycle | special-function results of one SM
        alu.fp32_per_cycle | ops/cycle | fp32 fused multiply-adds of one SM
        global.bandwidth | GB/s | device memory bandwidth of the whole device
        memory.bytes | bytes | device memory
        """,
    ),
    *_rows(
        Need.STATED,
        """
        tensor_core.tf32_macs_per_cycle | MACs/cycle | dense tf32 multiply-adds of one SM
        tensor_core.int8_macs_per_cycle | MACs/cycle | dense int8 multiply-adds of one SM
        tensor_core.fp8_macs_per_cycle | MACs/cycle | dense fp8 multiply-adds of one SM, fp32 accumulation
        global.latency | cycles | a dependent load that misses L2
        l2.bytes | bytes | L2 cache of the whole device
        l2.bandwidth | GB/s | read bandwidth of L2 to all SMs together
        launch.latency | ns | back-to-back launch of an empty kernel in one stream
        """,
    ),
    *_rows(
        Need.KNOWN,
        """
        setmaxnreg.minimum | registers | smallest value that ptxas accepts
        setmaxnreg.maximum | registers | largest value that ptxas accepts
        setmaxnreg.step | registers | values are multiples of this
        """,
        when="features.setmaxnreg",
    ),
    *_rows(
        Need.KNOWN,
        """
        tma.latency | cycles | issue of a load to the arrival of its first bytes at the barrier
        tma.bytes_per_cycle | bytes/cycle | sustained load rate into one SM
        tma.store_latency | cycles | issue of a store to its bulk-group wait returning
        mbarrier.latency | cycles | last arrive to the waiting warp's continuation
        """,
        when="features.tma",
    ),
    *_rows(
        Need.STATED,
        """
        wgmma.latency | cycles | issue to wait-return of one instruction, beyond its tensor core time
        wgmma.issue | cycles | cycles between two independent issues, beyond their tensor core time
        """,
        when="features.wgmma",
    ),
    *_rows(
        Need.KNOWN,
        """
        tensor_memory.columns | columns | tensor memory columns of one SM
        tensor_memory.lanes | lanes | tensor memory lanes, one 32-bit cell per column
        tensor_memory.minimum_columns | columns | smallest allocation; sizes are powers of two from here
        """,
        when="features.tcgen05",
    ),
    *_rows(
        Need.STATED,
        """
        tcgen05.latency | cycles | commit to its barrier's arrival, beyond the products' tensor core time
        """,
        when="features.tcgen05",
    ),
    *_rows(
        Need.OPTIONAL,
        """
        sm.clock_tensor_peak | MHz | clock at which the vendor states the tensor peak
        barriers.named_latency | cycles | last arrive at a named barrier to the others' continuation
        shared.round_trip_latency | cycles | registers to shared memory and back to another warp's registers
        shared.round_trip_cycles_per_kib | cycles | what each KiB adds to that round trip
        fence.proxy_async | cycles | fence.proxy.async.shared::cta behind reads of shared memory; their round trip when left out
        tma.load_latency_factor | ratio | loads are planned at this multiple of their idle latency; 2 when left out
        l2.persisting_bytes | bytes | largest share of L2 that may be set aside
        tensor_core.fp4_macs_per_cycle | MACs/cycle | dense fp4 multiply-adds of one SM
        tensor_core.fp64_macs_per_cycle | MACs/cycle | dense fp64 multiply-adds of one SM
        tensor_core.mma_sync_share | ratio | share of these rates that mma.sync reaches; all of it when left out
        """,
    ),
    # Numbers that were fitted to measured landscapes (docs/results/ranking.md); without them it uses vendor numbers alone.
    *_rows(
        Need.OPTIONAL,
        """
        model.load_latency | cycles | issue of a bulk load to its first bytes, with all SMs loading
        model.fill_bytes_per_cycle | bytes/cycle | loads and stores of one SM through L2, with all SMs drawing
        model.copy_bytes_per_cycle | bytes/cycle | what the threads of one SM copy themselves
        model.gemm_overhead | cycles | issue and drain of one blocking matrix product
        model.serial_latency | cycles | wait of each matrix instruction once the compiler serialised them
        model.spill_cycles | cycles | one spilled register of a warpgroup, store and reload, per matrix product
        model.alu_ratio | ratio | share of the fp32 rate that mixed arithmetic reaches
        model.stream_ratio | ratio | share of ALU and SFU that one warpgroup alone keeps busy
        model.arrive_cycles | cycles | shared memory, for one thread's arrival at an mbarrier
        model.phase | ratio | warpgroups at the tensor core: 0 take turns, 1 run side by side
        model.sync_cycles | cycles | a thread barrier of a role or block, from the last arrival on
        model.block_cycles | cycles | start of a block to its first instruction
        model.launch | ns | a launch, as events around it see it
        model.power_static | ratio | share of the power limit drawn by an idle device at the boost clock
        model.power_tensor | ratio | share drawn by busy tensor cores at the boost clock
        model.power_shared | ratio | share drawn by busy shared memory at the boost clock
        model.base_registers | registers | registers of a thread in addition to its live fragments
        model.copy_registers | registers | additional registers if the same threads copy tiles
        """,
    ),
]

_ASCEND = [
    *_rows(
        Need.KNOWN,
        """
        cores.cube | count | cube cores (AIC) of the device, or of the die
        cores.vector | count | vector cores (AIV) of the device, or of the die
        ub.bytes | bytes | unified buffer of one vector core
        ub.bytes_with_simt | bytes | the same if the kernel has a SIMT vector function
        ub.reserved | bytes | bytes of it that a kernel may not use
        ub.alignment | bytes | start alignment of a buffer in the unified buffer
        l1.bytes | bytes | L1 buffer of one cube core
        l1.reserved | bytes | bytes of it that a kernel may not use
        l1.alignment | bytes | start alignment of a buffer in L1
        l0a.bytes | bytes | left matrix buffer of one cube core
        l0a.alignment | bytes | start alignment of a buffer in L0A
        l0b.bytes | bytes | right matrix buffer of one cube core
        l0b.alignment | bytes | start alignment of a buffer in L0B
        l0c.bytes | bytes | accumulator buffer of one cube core
        l0c.alignment | bytes | start alignment of a buffer in L0C
        events.per_pipe_pair | count | event ids between two pipes of one core
        features.l0c_to_ub | flag | direct path from the accumulator to the unified buffer
        features.ub_to_l1 | flag | direct path from the unified buffer to L1
        features.simt | flag | SIMT vector functions
        """,
    ),
    *_rows(
        Need.STATED,
        """
        clock.cube | MHz | cube core clock; cycles become nanoseconds by it
        events.cross_core | count | event ids between the cores of a group
        l2.bytes | bytes | L2 cache of the device
        memory.bytes | bytes | device memory
        global.bandwidth | GB/s | device memory bandwidth of the whole device
        launch.latency | ns | back-to-back launch of an empty kernel in one stream
        cube.bf16_macs_per_cycle | MACs/cycle | bf16 multiply-adds of one cube core
        cube.fp16_macs_per_cycle | MACs/cycle | fp16 multiply-adds of one cube core
        cube.fp8_macs_per_cycle | MACs/cycle | fp8 multiply-adds of one cube core
        cube.fp4_macs_per_cycle | MACs/cycle | mxfp4 multiply-adds of one cube core
        cube.hf32_macs_per_cycle | MACs/cycle | hf32 multiply-adds of one cube core
        cube.fp32_macs_per_cycle | MACs/cycle | fp32 multiply-adds of one cube core
        cube.latency | cycles | completion of a cube operation beyond its throughput time
        vector.add_per_cycle | ops/cycle | additions, multiplications, comparisons of one vector core
        vector.divide_per_cycle | ops/cycle | divisions and remainders of one vector core
        vector.special_per_cycle | ops/cycle | exponentials and other special functions of one vector core
        vector.bytes_per_cycle | bytes/cycle | unified buffer to vector registers, one vector core
        mte1.l1_to_l0a_bytes_per_cycle | bytes/cycle | L1 to L0A
        mte1.l1_to_l0b_bytes_per_cycle | bytes/cycle | L1 to L0B
        mte1.latency | cycles | completion of an L0 load beyond its transfer
        mte2.gm_to_l1_bytes_per_cycle | bytes/cycle | device memory to L1
        mte2.gm_to_l1_latency | cycles | completion of that load beyond its transfer
        mte2.gm_to_l1_interval | cycles | least distance of two such loads
        mte2.gm_to_ub_bytes_per_cycle | bytes/cycle | device memory to the unified buffers of both vector cores
        mte2.gm_to_ub_latency | cycles | completion of that load beyond its transfer
        mte2.gm_to_ub_interval | cycles | least distance of two such loads
        mte3.ub_to_gm_bytes_per_cycle | bytes/cycle | unified buffers of both vector cores to device memory
        mte3.ub_to_gm_latency | cycles | completion of that store beyond its transfer
        mte3.ub_to_gm_interval | cycles | least distance of two such stores
        mte3.ub_to_l1_bytes_per_cycle | bytes/cycle | unified buffer to L1
        mte3.ub_to_l1_latency | cycles | completion of that copy beyond its transfer
        fixpipe.bytes_per_cycle | bytes/cycle | accumulator to one destination
        fixpipe.latency | cycles | completion of that move beyond its transfer
        fixpipe.l0c_to_gm_latency | cycles | completion of a move to device memory beyond its transfer
        """,
    ),
    *_rows(
        Need.OPTIONAL,
        """
        bias_table.bytes | bytes | bias table of one cube core
        fixpipe_buffer.bytes | bytes | parameter buffer of the fixpipe
        fixpipe.dual_bytes_per_cycle | bytes/cycle | accumulator to both vector cores' unified buffers
        l2.read_bytes_per_cycle | bytes/cycle | L2 reads of one core
        l2.write_bytes_per_cycle | bytes/cycle | L2 writes of one core
        """,
    ),
]

_BY_FAMILY = {TargetFamily.CUDA: tuple(_CUDA), TargetFamily.ASCEND: tuple(_ASCEND)}


def entries(family: TargetFamily) -> tuple[PermittedNumber, ...]:
    """All permitted numbers of a target family, in reading order."""
    return _BY_FAMILY[family]


@cache
def _index(family: TargetFamily) -> dict[str, PermittedNumber]:
    return {entry.path: entry for entry in _BY_FAMILY[family]}


def entry_at(family: TargetFamily, path: str) -> PermittedNumber | None:
    """The entry of a path; None if the family has no such number."""
    return _index(family).get(path)
