"""Waits: while a group blocks on a wait, none of its other operations may be executing.

A wait is needed on an edge that always blocks, and on any edge that crosses groups (Twill, arXiv 2512.18134, section 4.2:
no other operation of that warp issues in the ``cycles`` before a blocking wait).
"""

from warpwright.solver.domain.fact import Fact
from warpwright.solver.domain.verdict import Violation
from warpwright.solver.engines.model import Literal, linear
from warpwright.solver.modulo.encoding import ModuloEncoding
from warpwright.solver.modulo.problem import ModuloOp, ModuloProblem, ModuloWait
from warpwright.solver.modulo.schedule_reader import ModuloReading
from warpwright.solver.modulo.spans import HeldSpan, copies

__all__ = ["NAME", "build", "check", "explain"]

NAME = "waits"


def build(encoding: ModuloEncoding) -> None:
    """For every waiting operation and every other one of its group: the wait's phase is outside the other's execution."""
    problem = encoding.problem
    if not problem.groups:
        return
    for op in problem.ops:
        waiting = _waiting(encoding, op)
        if waiting is False:
            continue
        for other in problem.ops:
            if other.id == op.id or not other.cycles or _unit_keeps_apart(problem, op, other):
                continue
            together = encoding.together(op, other)
            if together is False:
                continue
            guards = [literal for literal in (waiting, together) if isinstance(literal, Literal)]
            with encoding.model.family(NAME):
                _outside(encoding, op, other, guards)


def _waiting(encoding: ModuloEncoding, op: ModuloOp) -> Literal | bool:
    """Whether the operation begins with a blocking wait."""
    incoming = [edge for edge in encoding.problem.edges if edge.target == op.id and edge.value]
    if any(edge.wait is ModuloWait.ALWAYS for edge in incoming):
        return True
    crossings = [encoding.crosses(edge) for edge in incoming if edge.wait is ModuloWait.ACROSS]
    if any(crossing is True for crossing in crossings):
        return True
    literals = [crossing for crossing in crossings if isinstance(crossing, Literal)]
    if not literals:
        return False
    waiting = encoding.model.boolean(f"waits:{op.id}")
    with encoding.model.family("domain"):
        for literal in literals:
            encoding.model.any_of([waiting], when=[literal])
    return waiting


def _unit_keeps_apart(problem: ModuloProblem, op: ModuloOp, other: ModuloOp) -> bool:
    """Both use one unit exclusively from their issue on, the other during all its execution: no wait can happen during it."""
    for unit in problem.units:
        mine = [use for use in op.uses if use.unit == unit.name and use.offset == 0 and use.cycles]
        theirs = [use for use in other.uses if use.unit == unit.name and use.offset == 0 and use.cycles >= other.cycles]
        if any(a.amount + b.amount > unit.capacity for a in mine for b in theirs):
            return True
    return False


def _outside(encoding: ModuloEncoding, op: ModuloOp, other: ModuloOp, guards: list[Literal]) -> None:
    model, interval = encoding.model, encoding.interval
    wait, begin = encoding.starts[op.id], encoding.starts[other.id]
    note = f"{op.id} waits while {other.id} executes"
    order = encoding.order(wait, begin)
    assert isinstance(order, Literal)  # two operations have phases of their own
    past = linear((1, wait.phase), (-1, begin.phase))
    model.at_least(past, other.cycles, when=[order.negated(), *guards], note=note)
    model.at_least(past + interval, other.cycles, when=[order, *guards], note=note)
    if wait.phase.index > begin.phase.index:  # then a tie counts as "before"
        model.at_most(past, -1, when=[order, *guards], note=note)


def check(reading: ModuloReading) -> tuple[Violation, ...]:
    """Waits during another operation of the same group."""
    problem, schedule = reading.problem, reading.schedule
    broken = []
    for index, op in enumerate(problem.ops):
        if not problem.groups or not schedule.waits(problem, op):
            continue
        for other in problem.ops:
            same = other.id != op.id and schedule.groups.get(other.id) == schedule.groups.get(op.id)
            start = schedule.starts[other.id]
            span = HeldSpan(other.id, start, start + other.cycles, 1)
            if same and copies(span, schedule.starts[op.id], schedule.interval):
                message = f"{op.id} blocks {schedule.groups[op.id]} while {other.id} executes for {other.cycles} cycles"
                broken.append(Violation(NAME, "wait-inside", message, f"/ops/{index}"))
    return tuple(broken)


def explain(problem: ModuloProblem, reading: ModuloReading | None) -> tuple[Fact, ...]:
    """Who waits for whom; without a schedule, who has to wherever it runs."""
    facts = []
    for edge in problem.edges:
        across = edge.wait is ModuloWait.ACROSS and reading is not None and reading.schedule.crosses(edge)
        if edge.value and (edge.wait is ModuloWait.ALWAYS or across):
            where = reading.schedule.groups.get(edge.target, "the core") if reading is not None else "its group"
            facts.append(
                Fact(f"{edge.target} waits for {edge.source}", edge.latency, None, "cycles", note=f"on {where}")
            )
    return tuple(facts)
