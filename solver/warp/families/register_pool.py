"""Registers that roles request at run time come from what the block got at launch, one warpgroup at a time.

A budget is a multiple of 8 in [24, 256]; either every role has one or none has (a mixture makes TileLang choose the wrong
direction of ``setmaxnreg``). Roles in one warpgroup share the value, idle warps have their warpgroup's, an idle warpgroup has
the smallest of any role. Their sum may not exceed ``warpgroups * R0``, where R0 is what ptxas gives at launch:
``min(floor(65536 / (threads * min_blocks) / 8) * 8, largest budget)``. A request for too many hangs in
``setmaxnreg.inc``; nothing in TileLang or ptxas refuses it. Source: rule book 1.3; TileLang 0.1.15 wheel,
MWS:553-613, ``codegen_cuda.cc:594``,
``annotate_warp_group_reg_alloc.cc:256-265``.
"""

from warpwright.solver.device.limits import WARPGROUP, WARPGROUP_THREADS
from warpwright.solver.device.registers import budgets, pool_excess
from warpwright.solver.domain.fact import Fact
from warpwright.solver.domain.verdict import Violation
from warpwright.solver.engines.model import Literal, linear
from warpwright.solver.warp.encoding import WarpEncoding
from warpwright.solver.warp.problem import CONSUMER, WarpProblem
from warpwright.solver.warp.registers import entry_of, least_budgets
from warpwright.solver.warp.schedule_reader import Reading

NAME = "register_pool"


def build(enc: WarpEncoding) -> None:
    """Range of each budget, one value per warpgroup, and the sum over warpgroups."""
    model, device = enc.model, enc.problem.device
    none = enc.no_reallocation
    if not device.setmaxnreg:
        model.any_of([none], note="the device cannot reallocate registers")
    for role in enc.structure.roles:
        model.equal(enc.registers[role], 0, when=[none])
        positive = [none.negated()]
        model.at_least(
            enc.registers[role], device.setmaxnreg_minimum, when=positive, note="smallest budget that ptxas accepts"
        )
        model.at_most(
            enc.registers[role], device.setmaxnreg_maximum, when=positive, note="largest budget that ptxas accepts"
        )
    if device.setmaxnreg:
        _build_pool(enc)


def _build_pool(enc: WarpEncoding) -> None:
    model, roles, most = enc.model, enc.structure.roles, max(v.hi for v in enc.registers.values())
    idle = model.integer("registers of an idle warpgroup", 0, most)
    least = [model.boolean(f"{role} has the smallest budget") for role in roles]
    model.exactly_one(least)
    for role, literal in zip(roles, least, strict=True):
        model.at_most(idle - enc.registers[role], 0)
        model.at_least(idle - enc.registers[role], 0, when=[literal])
    totals = []
    for group in range(max(enc.groups)):
        held = model.integer(f"registers of warpgroup {group}", 0, most)
        totals.append(held)
        inside = [_covers(enc, role, group) for role in roles]
        for role, literal in zip(roles, inside, strict=True):
            model.equal(held - enc.registers[role], 0, when=[literal], note="one budget per warpgroup")
        unused = [enc.groups[n].negated() for n in enc.groups if n <= group]
        nobody = [literal.negated() for literal in inside]
        model.equal(held - idle, 0, when=[*nobody, *unused], note="an idle warpgroup takes the smallest budget")
        for literal in unused:
            model.equal(held, 0, when=[literal.negated()], note="there is no such warpgroup")
    blocks = enc.problem.graph.min_blocks_per_sm
    for groups, literal in enc.groups.items():
        entry = enc.problem.device.launch_registers(WARPGROUP_THREADS * groups, blocks)
        model.at_most(
            linear(*((1, held) for held in totals)),
            groups * entry,
            when=[literal, enc.no_reallocation.negated()],
            note=f"{groups} warpgroups were launched with {entry} registers per thread",
        )


def _covers(enc: WarpEncoding, role: str, group: int) -> Literal:
    """Whether the role has a warp in this warpgroup."""
    model, first, last = enc.model, WARPGROUP * group, WARPGROUP * group + WARPGROUP - 1
    inside = model.boolean(f"{role} has warps in warpgroup {group}")
    below = model.boolean(f"{role} ends before warpgroup {group}")
    above = model.boolean(f"{role} starts after warpgroup {group}")
    lo, end = enc.first_warp[role], enc.first_warp[role] + enc.warps[role]
    model.at_most(end, first, when=[below])
    model.at_least(end, first + 1, when=[below.negated()])
    model.at_least(lo, last + 1, when=[above])
    model.at_most(lo, last, when=[above.negated()])
    model.any_of([inside, below, above])
    model.any_of([inside.negated(), below.negated()])
    model.any_of([inside.negated(), above.negated()])
    return inside


def check(reading: Reading) -> tuple[Violation, ...]:
    """Range, mixture, sharing and the pool."""
    found: list[Violation] = []
    device, roles = reading.problem.device, reading.schedule.roles

    def say(rule: str, message: str, place: str = "") -> None:
        found.append(Violation(NAME, rule, message, place))

    asking = [role for role in roles if role.registers_per_thread != 0]
    if asking and not device.setmaxnreg:
        say("no-setmaxnreg", f"{device.arch} cannot reallocate registers", asking[0].name)
    for role in asking:
        value = role.registers_per_thread
        legal = device.setmaxnreg_minimum <= value <= device.setmaxnreg_maximum
        if not legal or value % device.setmaxnreg_step:
            span = (
                f"multiples of {device.setmaxnreg_step} in [{device.setmaxnreg_minimum}, {device.setmaxnreg_maximum}]"
            )
            say("budget-value", f"{role.name} requests {value} registers; ptxas accepts {span}", role.name)
    if asking and len(asking) < len(roles):
        say(
            "zero-and-positive",
            "some roles have a budget and some have none: setmaxnreg would change registers in the wrong direction",
        )
    for first in range(0, reading.schedule.num_warps, WARPGROUP):
        inside = [r for r in roles if r.warps_lo < first + WARPGROUP and r.warps_hi > first]
        if len({r.registers_per_thread for r in inside}) > 1:
            values = ", ".join(f"{r.name} {r.registers_per_thread}" for r in inside)
            say("one-budget-a-warpgroup", f"warpgroup {first // WARPGROUP} would have {values}", inside[0].name)
    if asking and device.setmaxnreg:
        held = budgets(reading.schedule.roles, reading.schedule.num_warps)
        if excess := pool_excess(held, entry_of(reading)):
            say("pool-exceeded", excess)
    return tuple(found)


def explain(problem: WarpProblem, reading: Reading | None) -> tuple[Fact, ...]:
    """Registers of the block against the pool, by warpgroup."""
    if reading is None:
        return (_least_pool(problem),)
    entry = entry_of(reading)
    pool = WARPGROUP_THREADS * entry * (reading.schedule.num_warps // WARPGROUP)
    asked = budgets(reading.schedule.roles, reading.schedule.num_warps)
    asked = asked if any(asked) else (entry,) * (reading.schedule.num_warps // WARPGROUP)
    held = tuple((f"warpgroup {n}", WARPGROUP_THREADS * value) for n, value in enumerate(asked))
    note = f"{entry} registers per thread at launch"
    return (Fact("register pool", sum(amount for _, amount in held), pool, "registers", held, note),)


def _least_pool(problem: WarpProblem) -> Fact:
    """The pool at the kernel's own width: the least need of the roles, against what the launch gives."""
    budgets_of = least_budgets(problem)
    helpers = [budget for role, _, budget in budgets_of if role != CONSUMER]
    held = [(role, WARPGROUP_THREADS * groups * budget) for role, groups, budget in budgets_of if role == CONSUMER]
    groups = sum(count for role, count, _ in budgets_of if role == CONSUMER) + (1 if helpers else 0)
    held += [("helpers", WARPGROUP_THREADS * max(helpers))] if helpers else []
    entry = problem.device.launch_registers(WARPGROUP_THREADS * groups, problem.graph.min_blocks_per_sm)
    pool = WARPGROUP_THREADS * groups * entry
    note = f"{groups} warpgroups get {entry} registers per thread at launch"
    return Fact("register pool", sum(amount for _, amount in held), pool, "registers", tuple(held), note)
