"""Registers of roles under a structure or a finished schedule: which program meets which budget."""

from warpwright.solver.device.limits import WARPGROUP, WARPGROUP_THREADS
from warpwright.solver.device.liveness import RegisterPeak
from warpwright.solver.device.registers import Registers, entry_registers, need
from warpwright.solver.domain.kernel import ROOT, Op
from warpwright.solver.warp.encoding import default_warps
from warpwright.solver.warp.layout.structure import PlacedKernel, structure_of
from warpwright.solver.warp.problem import CONSUMER, WarpProblem
from warpwright.solver.warp.schedule_reader import Reading

__all__ = ["asked_warps", "entry_of", "least_budgets", "program_of", "role_need", "role_registers"]


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
