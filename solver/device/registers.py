"""Registers of a block and its roles: what the launch gives, what a role has after reallocation, what its program needs.

The one model of registers, for the rules and for the forecast. A role needs what its private buffers hold at the fullest
moment (:mod:`warpwright.solver.device.liveness`) and, at that moment, registers for addresses and temporaries.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from warpwright.solver.device.limits import WARP_THREADS, WARPGROUP, WARPGROUP_THREADS, DeviceLimits
from warpwright.solver.device.liveness import RegisterPeak, peak_registers
from warpwright.solver.device.wgmma import instruction_registers
from warpwright.solver.domain.kernel import Memory, Op, OpKind
from warpwright.solver.domain.schedule import Role
from warpwright.solver.domain.source_order import SourceOrder

__all__ = [
    "Registers",
    "budgets",
    "entry_registers",
    "instruction_floor",
    "need",
    "pool_excess",
    "works_with_threads",
]

OTHER_OVERHEAD = 16
"""Registers in addition to the live buffers at an operation that is not a matrix product; at a product the device
has its own number.
"""
THROUGH_REGISTERS = 40
"""Smallest budget of a role whose threads move data themselves: the minimum of 24 plus addresses and a vector in flight."""


@dataclass(frozen=True, slots=True)
class Registers:
    """Registers per thread of a role: the need, the budget, and what does not fit."""

    needed: int
    budget: int

    @property
    def spilled(self) -> int:
        """Registers that are spilled to local memory."""
        return max(0, self.needed - self.budget)


def budgets(roles: Sequence[Role], num_warps: int) -> tuple[int, ...]:
    """Registers per thread of each warpgroup after reallocation, 0 if nothing is reallocated.

    Idle warps take their warpgroup's value, an idle warpgroup the smallest of any role (TileLang 0.1.15 wheel, MWS:600-608).
    """
    smallest = min((role.registers_per_thread for role in roles if role.registers_per_thread > 0), default=0)
    held = []
    for first in range(0, num_warps, WARPGROUP):
        inside = [r for r in roles if r.warps_lo < first + WARPGROUP and r.warps_hi > first]
        held.append(inside[0].registers_per_thread if inside else smallest)
    return tuple(held)


def entry_registers(limits: DeviceLimits, roles: Iterable[Role], num_warps: int, min_blocks: int) -> int:
    """R0: registers per thread at launch of a block with these roles."""
    largest = max((role.registers_per_thread for role in roles), default=0)
    return limits.launch_registers(WARP_THREADS * max(num_warps, 1), min_blocks, largest)


def pool_excess(held: Sequence[int], entry: int) -> str:
    """By how much the registers that warpgroups ask for exceed what their block got at launch, in words; empty if they fit.

    ``held`` are registers per thread of each warpgroup after reallocation, ``entry`` those of a thread at launch. A
    request beyond the pool waits in ``setmaxnreg.inc`` for registers that nobody releases (PTX ISA, ``setmaxnreg``; rule book
    1.3); neither TileLang nor ptxas refuses it.
    """
    if sum(held) <= len(held) * entry:
        return ""
    asked, pool = WARPGROUP_THREADS * sum(held), WARPGROUP_THREADS * len(held) * entry
    return f"budgets {'/'.join(map(str, held))} need {asked:,} registers, the launch gave {pool:,}"


def works_with_threads(source: SourceOrder, op: Op) -> bool:
    """Whether an operation's data passes through the registers of its role's threads, so that more of them are faster."""
    if op.through_registers:
        return True
    if op.kind in (OpKind.TMA_LOAD, OpKind.TMA_STORE, OpKind.BIND, OpKind.WAIT):
        return False
    touched = {source.graph.buffer(access.buffer).memory for access in (*op.reads, *op.writes)}
    return bool(touched - {Memory.LOCAL})


def need(
    limits: DeviceLimits, source: SourceOrder, program: Sequence[Op], warps: int, spread: frozenset[str]
) -> RegisterPeak:
    """Registers per thread that a program needs in a role of this many warps.

    ``spread`` names loops whose body overlaps iterations (stage offsets).
    """
    overhead = {
        op.id: limits.product_registers if op.gemm else OTHER_OVERHEAD for op in program if not _is_elected(source, op)
    }
    peak = peak_registers(source, program, warps, overhead, spread)
    if overhead and peak.registers < THROUGH_REGISTERS:
        first = next(iter(overhead))
        return RegisterPeak(THROUGH_REGISTERS, first, (("a role whose threads move data", THROUGH_REGISTERS),))
    return peak


def instruction_floor(program: Iterable[Op], warps: int) -> int:
    """Launch registers that the widest warpgroup instruction of a program needs."""
    return max((instruction_registers(op.gemm, warps) for op in program if op.gemm is not None), default=0)


def _is_elected(source: SourceOrder, op: Op) -> bool:
    """Whether one elected lane does the operation, or each thread separately: no thread holds a part of a tile for it."""
    if op.gemm is not None and op.gemm.c_memory is Memory.TENSOR:
        return not op.through_registers
    return not works_with_threads(source, op)
