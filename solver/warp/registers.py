"""Registers of a block and its roles: what the launch gives, what a role keeps after reallocation, what its program needs."""

from warpwright.solver.device.wgmma import WARPGROUP, instruction_registers
from warpwright.solver.domain.kernel import ROOT, Memory, Op
from warpwright.solver.warp.encoding import default_warps, works_with_threads
from warpwright.solver.warp.liveness import Peak, peak_registers
from warpwright.solver.warp.problem import CONSUMER, WarpProblem
from warpwright.solver.warp.schedule_reader import Reading
from warpwright.solver.warp.structure import Structure, structure_of

__all__ = [
    "THREADS_PER_GROUP",
    "budgets",
    "entry_registers",
    "instruction_floor",
    "least_budgets",
    "need",
    "program_of",
]

THREADS_PER_GROUP = 128
PRODUCT_OVERHEAD = 26
OTHER_OVERHEAD = 16
THROUGH_REGISTERS = 40
"""Least budget of a role whose threads move data themselves: the minimum of 24 plus addresses and a vector in flight."""


def budgets(reading: Reading) -> tuple[int, ...]:
    """Registers per thread of each warpgroup after reallocation."""
    roles = reading.schedule.roles
    smallest = min((role.registers_per_thread for role in roles if role.registers_per_thread > 0), default=0)
    held = []
    for first in range(0, reading.schedule.num_warps, WARPGROUP):
        inside = [r for r in roles if r.warps_lo < first + WARPGROUP and r.warps_hi > first]
        held.append(inside[0].registers_per_thread if inside else smallest)
    return tuple(held)


def entry_registers(reading: Reading) -> int:
    """R0: registers per thread at launch."""
    threads = 32 * max(reading.schedule.num_warps, 1)
    cap = reading.problem.device.launch_registers(threads, reading.problem.graph.min_blocks_per_sm)
    largest = max((role.registers_per_thread for role in reading.schedule.roles), default=0)
    return min(cap, largest) if largest > 0 else cap


def is_elected(problem: WarpProblem, op: Op) -> bool:
    """Whether one elected lane does the operation, or each thread for itself: none holds a part of a tile for it."""
    if op.gemm is not None and op.gemm.c_memory is Memory.TENSOR:
        return not op.through_registers
    return not works_with_threads(problem, op)


def need(problem: WarpProblem, program: list[Op], warps: int, spread: frozenset[str]) -> Peak:
    """Registers per thread that a role's program needs."""
    overhead = {op.id: PRODUCT_OVERHEAD if op.gemm else OTHER_OVERHEAD for op in program if not is_elected(problem, op)}
    peak = peak_registers(problem, program, warps, overhead, spread)
    if overhead and peak.registers < THROUGH_REGISTERS:
        first = next(iter(overhead))
        return Peak(THROUGH_REGISTERS, first, (("a role whose threads move data", THROUGH_REGISTERS),))
    return peak


def program_of(problem: WarpProblem, structure: Structure, role: str) -> list[Op]:
    """A role's operations in source order, as they run in this structure."""
    return [structure.ops[op.id] for op in problem.source.below(ROOT) if role in structure.placement[op.id]]


def instruction_floor(program: list[Op], warps: int) -> int:
    """Launch registers that the widest warpgroup instruction of a program asks for."""
    return max((instruction_registers(op.gemm, warps) for op in program if op.gemm is not None), default=0)


def least_budgets(problem: WarpProblem) -> tuple[tuple[str, int, int], ...]:
    """Role, warpgroups and the least budget that each role can have at the kernel's own width, pins kept."""
    structure, device = structure_of(problem), problem.device
    groups = problem.pins.consumer_warpgroups or max(1, problem.graph.threads // THREADS_PER_GROUP)
    found = []
    for role in structure.roles:
        warps = WARPGROUP * groups if role == CONSUMER else default_warps(problem, structure, role)
        program = program_of(problem, structure, role)
        least = max(need(problem, program, warps, frozenset()).registers, device.setmaxnreg_minimum)
        step = max(device.setmaxnreg_step, 1)
        pinned = [pin.registers_per_thread for pin in problem.pins.roles if pin.role == role]
        budget = next((value for value in pinned if value is not None), -(-least // step) * step)
        found.append((role, groups if role == CONSUMER else 1, budget))
    return tuple(found)
