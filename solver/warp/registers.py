"""Registers of roles under a structure or a finished schedule: which program meets which budget."""

from collections.abc import Sequence

from warpwright.solver.device.limits import WARPGROUP, WARPGROUP_THREADS
from warpwright.solver.device.liveness import RegisterPeak
from warpwright.solver.device.registers import Registers, entry_registers, instruction_floor, need
from warpwright.solver.domain.kernel import ROOT, Op
from warpwright.solver.warp.encoding import default_warps
from warpwright.solver.warp.layout.structure import PlacedKernel, structure_of
from warpwright.solver.warp.problem import CONSUMER, WarpProblem
from warpwright.solver.warp.schedule_reader import Reading

__all__ = ["asked_warps", "entry_of", "least_budgets", "program_of", "role_need", "role_registers", "widest_refusal"]


def entry_of(reading: Reading) -> int:
    """Registers per thread at launch of a schedule's block."""
    problem, schedule = reading.problem, reading.schedule
    return entry_registers(problem.device, schedule.roles, schedule.num_warps, problem.graph.min_blocks_per_sm)


def role_need(reading: Reading, role: str) -> RegisterPeak:
    """Registers per thread that a role's program needs in the order of the schedule."""
    spread = frozenset(
        scope
        for (scope, owner) in reading.bodies
        if owner == role and any(entry.item and entry.delta for entry in reading.entries(scope, role))
    )
    problem = reading.problem
    return need(problem.device, problem.source, reading.order(role), reading.roles[role].warps, spread)


def role_registers(reading: Reading) -> dict[str, Registers]:
    """Need and budget of every role with warps."""
    entry = entry_of(reading)
    return {
        role.name: Registers(role_need(reading, role.name).registers, role.registers_per_thread or entry)
        for role in reading.schedule.roles
        if role.warps > 0
    }


def program_of(problem: WarpProblem, structure: PlacedKernel, role: str) -> list[Op]:
    """A role's operations in source order, as they run in this structure."""
    return [structure.ops[op.id] for op in problem.source.below(ROOT) if role in structure.placement[op.id]]


def asked_warps(problem: WarpProblem, structure: PlacedKernel, role: str) -> int:
    """Warps of a role by the pins; without one, the kernel's own width, or what a role's work needs."""
    pinned = [(pin.warps_lo, pin.warps_hi) for pin in problem.pins.roles if pin.role == role]
    ranges = [high - low for low, high in pinned if low is not None and high is not None and high > low]
    if ranges:
        return ranges[0]
    if role != CONSUMER:
        return default_warps(problem, structure, role)
    return WARPGROUP * (problem.pins.consumer_warpgroups or max(1, problem.graph.threads // WARPGROUP_THREADS))


def least_budgets(problem: WarpProblem) -> tuple[tuple[str, int, int], ...]:
    """Role, warpgroups and the smallest budget that each role can have at the kernel's own width, with the pins."""
    structure, device = structure_of(problem), problem.device
    groups = asked_warps(problem, structure, CONSUMER) // WARPGROUP
    found = []
    for role in structure.roles:
        warps = asked_warps(problem, structure, role)
        program = program_of(problem, structure, role)
        least = max(need(device, problem.source, program, warps, frozenset()).registers, device.setmaxnreg_minimum)
        step = max(device.setmaxnreg_step, 1)
        pinned = [pin.registers_per_thread for pin in problem.pins.roles if pin.role == role]
        budget = next((value for value in pinned if value is not None), -(-least // step) * step)
        found.append((role, groups if role == CONSUMER else 1, budget))
    return tuple(found)


def widest_refusal(problem: WarpProblem, ops: Sequence[Op], groups: int) -> str:
    """Why no block has registers for these operations in a role of this many warpgroups; empty if one may have.

    Each operation is judged alone, with nothing else alive, so the answer holds for every order and whatever else the role runs.
    """
    device, relaxed = problem.device, {"register_need", "register_pool"} & set(problem.relaxed)
    products = [op for op in ops if op.gemm is not None]
    if relaxed or not products:
        return ""
    warps, step = WARPGROUP * groups, max(device.setmaxnreg_step, 1)
    needed = max(need(device, problem.source, [op], warps, frozenset()).registers for op in products)
    floor = instruction_floor(products, warps)
    budget = -(-needed // step) * step
    for total in range(groups, device.block_threads // WARPGROUP_THREADS + 1):
        entry = device.launch_registers(WARPGROUP_THREADS * total, problem.graph.min_blocks_per_sm)
        asked = groups * budget + (total - groups) * device.setmaxnreg_minimum
        moved = device.setmaxnreg and budget <= device.setmaxnreg_maximum and asked <= total * entry
        if entry >= floor and (needed <= entry or moved):
            return ""
    return f"{products[0].id} needs {needed} registers per thread over {warps} warps"
