"""Which tensor core instruction TileLang selects for a matrix product on a device: its speed is the product's.

Source: TileLang 0.1.15 wheel, ``src/cuda/op/gemm.cc`` (``Gemm::SelectInst``). The choice depends on where the result is, on the
types and on the device; a schedule's roles of whole warpgroups change nothing.
"""

from enum import StrEnum

from warpwright.solver.device.tcgen05 import LANES, atom, why_none
from warpwright.solver.device.wgmma import INSTRUCTION_ROWS, ROWS_PER_WARP, is_wgmma, padded_macs
from warpwright.solver.domain.kernel import GemmShape, KernelGraph, Memory

__all__ = ["Instruction", "instruction", "product_macs", "refusal", "remarks"]


class Instruction(StrEnum):
    """By the name of the PTX instruction."""

    TCGEN05 = "tcgen05.mma"
    WGMMA = "wgmma"
    MMA_SYNC = "mma.sync"


_ROWS = {Instruction.TCGEN05: LANES, Instruction.WGMMA: INSTRUCTION_ROWS, Instruction.MMA_SYNC: ROWS_PER_WARP}


def product_macs(shape: GemmShape, selected: Instruction) -> int:
    """Multiply-adds that a tile product takes: its rows are padded to those of the instruction."""
    return padded_macs(shape.m, shape.n, shape.k, _ROWS[selected])


def instruction(shape: GemmShape, *, wgmma: bool, tcgen05: bool) -> Instruction:
    """The instruction of a product on a device with or without warpgroup products and tensor memory."""
    if tcgen05 and shape.c_memory is Memory.TENSOR:
        return Instruction.TCGEN05
    if wgmma and is_wgmma(shape):
        return Instruction.WGMMA
    return Instruction.MMA_SYNC


def remarks(graph: KernelGraph, *, wgmma: bool, tcgen05: bool) -> tuple[str, ...]:
    """Products that do not use the device's fastest instruction, one sentence each, with the way to it."""
    if not wgmma and not tcgen05:
        return ()
    fast = Instruction.TCGEN05 if tcgen05 else Instruction.WGMMA
    way = _INTO_TENSOR_MEMORY if tcgen05 else _FOR_WARPGROUPS
    return tuple(
        f"{op.id} compiles to mma.sync on {graph.arch}, not to {fast.value}, and its forecast is at that speed: {way}"
        for op in graph.ops
        if op.gemm is not None and instruction(op.gemm, wgmma=wgmma, tcgen05=tcgen05) is Instruction.MMA_SYNC
    )


def refusal(name: str, shape: GemmShape, arch: str, *, wgmma: bool, tcgen05: bool) -> str:
    """Why TileLang cannot compile a product of this operator, with the way out; empty if it can."""
    if name == "T.wgmma_gemm":
        if not wgmma:
            return (
                f"{name} is for devices with warpgroup products (sm_90a), not {arch}: T.gemm takes what the device has"
            )
        if not is_wgmma(shape):
            return f"{name} has no warpgroup instruction for {shape.m} x {shape.n} x {shape.k} of {shape.a_dtype}: write T.gemm"
    if shape.c_memory is Memory.TENSOR or name == "T.tcgen05_gemm":
        if not tcgen05:
            return (
                f"{name} into tensor memory is for devices that have it (sm_100a), not {arch}: accumulate in a fragment"
            )
        if atom(shape) is None:
            return why_none(shape)
    return ""


_INTO_TENSOR_MEMORY = "accumulate in T.alloc_tmem and read the result with T.copy"
_FOR_WARPGROUPS = "warpgroup products have M of at least 64, B in shared memory, and 8-bit operands along K"
