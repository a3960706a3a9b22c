"""A role's budget covers its threads' live registers, and the launch budget covers one warpgroup instruction.

What a program needs is the device model's (:mod:`warpwright.solver.device.registers`): live accumulators and fragments per
thread, and at that moment registers for addresses and temporaries. Calibrated on ptxas 13.0.88: 192 accumulators a thread fit
240 registers and spill at 168, 256 spill at 240. A role that moves data through its threads' registers never gets the minimum
budget (TileLang issue 359). ``R0 >= N/2 + 26`` or ptxas fails (C7602). Source: rule book 1.3; CUTLASS issue 2904.
"""

from warpwright.solver.device.limits import WARPGROUP, WARPGROUP_THREADS
from warpwright.solver.device.registers import instruction_floor, need
from warpwright.solver.domain.fact import Fact
from warpwright.solver.domain.verdict import Violation
from warpwright.solver.warp.encoding import WarpEncoding, default_warps
from warpwright.solver.warp.layout.structure import structure_of
from warpwright.solver.warp.problem import CONSUMER, WarpProblem
from warpwright.solver.warp.registers import asked_warps, entry_of, program_of, role_need
from warpwright.solver.warp.schedule_reader import Reading

NAME = "register_need"


def build(enc: WarpEncoding) -> None:
    """Budget above the need, for each width and with or without overlapping iterations; launch floor for each width."""
    problem, model = enc.problem, enc.model
    blocks = problem.graph.min_blocks_per_sm
    for role in enc.structure.roles:
        program = program_of(problem, enc.structure, role)
        widths = {n: [literal] for n, literal in enc.width.items()} if role == CONSUMER else {0: []}
        staged = [scope.id for scope in enc.loops if enc.is_staged(scope.id, role)]
        for groups, guard in widths.items():
            warps = WARPGROUP * groups or default_warps(problem, enc.structure, role)
            cases = [(frozenset[str](), guard)]
            for scope in staged:
                for item in enc.structure.body(scope, role):
                    late = [lit for n, lit in enc.stage_is[scope, role, item].items() if n]
                    cases += [(frozenset(staged), [*guard, literal]) for literal in late]
            for spread, when in dict.fromkeys((s, tuple(w)) for s, w in cases):
                peak = need(problem.device, problem.source, program, warps, spread)
                note = f"{role} needs {peak.registers} registers at {peak.op}"
                model.at_least(
                    enc.registers[role], peak.registers, when=[*when, enc.no_reallocation.negated()], note=note
                )
                for total, literal in enc.groups.items():
                    if problem.device.launch_registers(WARPGROUP_THREADS * total, blocks) < peak.registers:
                        model.any_of([literal.negated()], when=[*when, enc.no_reallocation], note=note)
            floor = instruction_floor(program, warps)
            for total, literal in enc.groups.items():
                entry = problem.device.launch_registers(WARPGROUP_THREADS * total, blocks)
                if entry < floor:
                    note = f"one instruction needs {floor} registers at launch, {total} warpgroups get {entry}"
                    model.any_of([literal.negated()], when=guard, note=note)


def check(reading: Reading) -> tuple[Violation, ...]:
    """Need and launch floor of every role."""
    found: list[Violation] = []
    entry = entry_of(reading)
    for role in reading.schedule.roles:
        if role.warps <= 0:
            continue
        program = reading.order(role.name)
        peak = role_need(reading, role.name)
        budget = role.registers_per_thread or entry
        if peak.registers > budget:
            held = ", ".join(f"{who} {amount}" for who, amount in peak.holders)
            message = f"{role.name} needs {peak.registers} registers per thread at {peak.op} ({held}), but has {budget}"
            found.append(Violation(NAME, "role-budget", message, role.name))
        floor = instruction_floor(program, role.warps)
        if floor > entry:
            message = (
                f"one instruction of {role.name} needs {floor} registers at launch, the block gets {entry} (C7602)"
            )
            found.append(Violation(NAME, "launch-floor", message, role.name))
    return tuple(found)


def explain(problem: WarpProblem, reading: Reading | None) -> tuple[Fact, ...]:
    """Registers per thread of each role against its budget."""
    facts = []
    if reading is not None:
        entry = entry_of(reading)
        for role in reading.schedule.roles:
            peak = role_need(reading, role.name)
            budget = role.registers_per_thread or entry
            note = f"fullest at {peak.op}" if peak.op else ""
            facts.append(
                Fact(f"{role.name} registers", peak.registers, budget, "registers per thread", peak.holders, note)
            )
        return tuple(facts)
    structure = structure_of(problem)
    for name in structure.roles:
        program = program_of(problem, structure, name)
        warps = asked_warps(problem, structure, name)
        peak = need(problem.device, problem.source, program, warps, frozenset())
        limit = problem.device.setmaxnreg_maximum or problem.device.thread_registers
        note = f"with {warps} warps; fullest at {peak.op}" if peak.op else f"with {warps} warps"
        if peak.registers == 0:
            continue
        facts.append(Fact(f"{name} registers", peak.registers, limit, "registers per thread", peak.holders, note))
    return tuple(facts)
