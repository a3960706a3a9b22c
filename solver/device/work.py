"""The cost of a statement's work, in cycles of one SM with its units free: a frontend writes it into the kernel graph.

Every rate comes from the profile.

A cost is for the whole block's work. ``uses`` says how long each unit is busy, ``latency`` how long until the result can be
used when all units are free. Pure Python.
"""

from dataclasses import dataclass
from math import ceil

from warpwright.solver.device.element_types import tensor_rate_name
from warpwright.solver.device.instruction import Instruction, instruction, product_macs, refusal
from warpwright.solver.domain.kernel import GemmShape, Unit, UnitUse
from warpwright.solver.domain.profile import HardwareProfile

__all__ = ["Cost", "CostModel", "SimtWork"]


@dataclass(frozen=True, slots=True)
class Cost:
    """Cycles until the result, and cycles that each unit is busy (units with none left out)."""

    latency: int
    uses: tuple[UnitUse, ...]


@dataclass(frozen=True, slots=True)
class SimtWork:
    """Work of a SIMT operation: floating-point instructions, special-function results, bytes of shared and of global memory."""

    alu: int = 0
    sfu: int = 0
    shared_bytes: int = 0
    read_bytes: int = 0
    written_bytes: int = 0


class CostModel:
    """Rates of one profile. Reading an absent or unknown rate raises ``ProfileError``; optional latencies count as zero."""

    def __init__(self, profile: HardwareProfile) -> None:
        self._profile = profile
        clock_hz = profile.number("sm.clock_boost", "MHz") * 1e6
        bandwidth = profile.number("global.bandwidth", "GB/s") * 1e9
        self._global_rate = bandwidth / (profile.integer("sm.count", "count") * clock_hz)
        self._shared_rate = profile.number("shared.bytes_per_cycle", "bytes/cycle")
        self._alu_rate = profile.number("alu.fp32_per_cycle", "ops/cycle")
        self._sfu_rate = profile.number("sfu.exponentials_per_cycle", "ops/cycle")
        self.has_tma = profile.flag("features.tma")

    def gemm(self, shape: GemmShape) -> Cost:
        """A tile product: padded multiply-adds over the rate of the instruction that the lowering selects, plus its latency."""
        selected = self.instruction(shape)
        rate, latency = self._tensor_rate(shape.a_dtype), 0
        if selected is Instruction.TCGEN05:
            latency = self._optional("tcgen05.latency")
        elif selected is Instruction.WGMMA:
            latency = self._optional("wgmma.latency")
        elif self._profile.has("tensor_core.mma_sync_share"):
            rate *= self._profile.number("tensor_core.mma_sync_share", "ratio")
        cycles = self._cycles(product_macs(shape, selected), rate)
        return Cost(cycles + latency, _uses((Unit.TENSOR_CORE, cycles)))

    def instruction(self, shape: GemmShape) -> Instruction:
        """The tensor core instruction of a product on this device."""
        wgmma, tcgen05 = (self._profile.flag(f"features.{name}") for name in ("wgmma", "tcgen05"))
        return instruction(shape, wgmma=wgmma, tcgen05=tcgen05)

    def refuses(self, name: str, shape: GemmShape) -> str:
        """Why the operator has no instruction on this device, with the way out; empty if it has one."""
        wgmma, tcgen05 = (self._profile.flag(f"features.{name}") for name in ("wgmma", "tcgen05"))
        return refusal(name, shape, self._profile.arch, wgmma=wgmma, tcgen05=tcgen05)

    def tma_load(self, bytes_: int) -> Cost:
        """A bulk copy into shared memory: its bytes occupy the unit, the first of them arrive after the latency."""
        cycles = self._cycles(bytes_, self._profile.number("tma.bytes_per_cycle", "bytes/cycle"))
        return Cost(cycles + self._profile.integer("tma.latency", "cycles"), _uses((Unit.TMA, cycles)))

    def tma_store(self, bytes_: int) -> Cost:
        """A bulk copy out of shared memory; the issuing lane waits until the source may be written again."""
        cycles = self._cycles(bytes_, self._profile.number("tma.bytes_per_cycle", "bytes/cycle"))
        return Cost(cycles + self._profile.integer("tma.store_latency", "cycles"), _uses((Unit.TMA, cycles)))

    def async_load(self, bytes_: int) -> Cost:
        """``cp.async``: as many bytes through the load/store unit, without registers."""
        cycles = self._cycles(bytes_, min(self._global_rate, self._shared_rate))
        return Cost(cycles + self._optional("global.latency"), _uses((Unit.LSU, cycles)))

    def simt(self, work: SimtWork) -> Cost:
        """Scalar code of all threads: units work side by side, so the slowest decides; what is read adds its latency."""
        alu = self._cycles(work.alu, self._alu_rate)
        sfu = self._cycles(work.sfu, self._sfu_rate)
        through = work.read_bytes + work.written_bytes
        moved = self._cycles(work.shared_bytes, self._shared_rate) + self._cycles(through, self._global_rate)
        latency = max(alu, sfu, moved, 1)
        if work.read_bytes:
            latency += self._optional("global.latency")
        elif work.shared_bytes:
            latency += self._optional("shared.round_trip_latency")
        return Cost(latency, _uses((Unit.ALU, alu), (Unit.SFU, sfu), (Unit.LSU, moved)))

    def _tensor_rate(self, dtype: str) -> float:
        return self._profile.number(f"tensor_core.{tensor_rate_name(dtype)}_macs_per_cycle", "MACs/cycle")

    def _optional(self, path: str) -> int:
        return self._profile.integer(path, "cycles") if self._profile.has(path) else 0

    @staticmethod
    def _cycles(amount: float, rate: float) -> int:
        return ceil(amount / rate)


def _uses(*pairs: tuple[Unit, int]) -> tuple[UnitUse, ...]:
    return tuple(UnitUse(unit, cycles) for unit, cycles in pairs if cycles)
