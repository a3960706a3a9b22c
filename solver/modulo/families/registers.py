"""Registers: results that live at the same time on one group fit into the registers of one of its threads.

(Twill, arXiv 2512.18134, section 4.2: the sum of live registers over the operations of a warp, in every cycle.)
"""

from warpwright.solver.domain.fact import Fact
from warpwright.solver.domain.verdict import Violation
from warpwright.solver.engines.model import Expr, Literal, linear
from warpwright.solver.modulo.encoding import ModuloEncoding, weighted
from warpwright.solver.modulo.problem import ModuloOp, ModuloProblem, ModuloSchedule
from warpwright.solver.modulo.schedule_reader import ModuloReading
from warpwright.solver.modulo.spans import HeldSpan, crowded, peak

__all__ = ["NAME", "build", "check", "explain"]

NAME = "registers"


def build(encoding: ModuloEncoding) -> None:
    """The sum of live registers of the operations on the same group, at every birth of a result."""
    problem = encoding.problem
    if not problem.groups:
        return
    holders = [op for op in problem.ops if op.registers]
    for op in holders:
        parts = [(other.registers, _counted(encoding, op, other)) for other in holders]
        limits = [(-group.registers, encoding.on[op.id, group.name].var) for group in problem.candidates(op)]
        with encoding.model.family(NAME):
            encoding.model.at_most(weighted([*parts, (1, linear(*limits))]), 0, note=f"registers when {op.id} is born")


def _counted(encoding: ModuloEncoding, at: ModuloOp, other: ModuloOp) -> Expr:
    """Copies of the other's result that live at an issue if both are on one group; otherwise nothing."""
    together = True if at.id == other.id else encoding.together(at, other)
    if together is False:
        return Expr(())
    alive = encoding.copies(encoding.starts[at.id], encoding.starts[other.id], encoding.end(other))
    if together is True:
        return alive
    assert isinstance(together, Literal)
    counted = encoding.model.integer(f"counted:{at.id}:{other.id}", 0, encoding.most_copies(other))
    with encoding.model.family("domain"):
        encoding.model.at_least(counted - alive, 0, when=[together])
    return linear((1, counted))


def check(reading: ModuloReading) -> tuple[Violation, ...]:
    """Groups whose threads would hold more registers than they have."""
    problem, schedule = reading.problem, reading.schedule
    broken = []
    for index, group in enumerate(problem.groups):
        found = crowded(_spans(problem, schedule, group.name), schedule.interval, group.registers)
        if found:
            who = f"in cycle {found.cycle}: {found.who}"
            message = f"a thread of {group.name} has {group.registers}, but {found.total} live {who}"
            broken.append(Violation(NAME, "limit", message, f"/groups/{index}"))
    return tuple(broken)


def explain(problem: ModuloProblem, reading: ModuloReading | None) -> tuple[Fact, ...]:
    """Peak of every group's registers and who holds it; without a schedule, the largest result."""
    facts = []
    for group in problem.groups:
        if reading is None:
            largest, note = max((op.registers for op in problem.ops), default=0), "the largest result"
        else:
            top = peak(_spans(problem, reading.schedule, group.name), reading.schedule.interval)
            largest, note = top.total, top.who
        facts.append(Fact(group.name, largest, group.registers, "registers per thread", note=note))
    return tuple(facts)


def _spans(problem: ModuloProblem, schedule: ModuloSchedule, group: str) -> list[HeldSpan]:
    mine = [op for op in problem.ops if op.registers and schedule.groups.get(op.id) == group]
    return [HeldSpan(op.id, *schedule.lifetime(problem, op), op.registers) for op in mine]
