"""Registers: results that live at the same time on one group fit into the registers of one of its threads.

(Twill, arXiv 2512.18134, section 4.2: the sum of live registers over the operations of a warp, in every cycle.)
"""

from warpwright.solver.domain.verdict import Violation
from warpwright.solver.engines.model import Expr, Literal, linear
from warpwright.solver.modulo.encoding import Encoding, weighted
from warpwright.solver.modulo.problem import ModuloProblem, ModuloSchedule, Op
from warpwright.solver.modulo.spans import Span, crowded, peak

__all__ = ["FAMILY", "build", "check", "explain"]

FAMILY = "registers"


def build(encoding: Encoding) -> None:
    """The sum of live registers of the operations on the same group, at every birth of a result."""
    problem = encoding.problem
    if not problem.groups:
        return
    holders = [op for op in problem.ops if op.registers]
    for op in holders:
        parts = [(other.registers, _counted(encoding, op, other)) for other in holders]
        limits = [(-group.registers, encoding.on[op.id, group.name].var) for group in problem.candidates(op)]
        with encoding.model.family(FAMILY):
            encoding.model.at_most(weighted([*parts, (1, linear(*limits))]), 0, note=f"registers when {op.id} is born")


def _counted(encoding: Encoding, at: Op, other: Op) -> Expr:
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


def check(problem: ModuloProblem, schedule: ModuloSchedule) -> tuple[Violation, ...]:
    """Groups whose threads would hold more registers than they have."""
    broken = []
    for index, group in enumerate(problem.groups):
        found = crowded(_spans(problem, schedule, group.name), schedule.interval, group.registers)
        if found:
            who = f"in cycle {found.cycle}: {found.who}"
            message = f"a thread of {group.name} has {group.registers}, but {found.total} are live {who}"
            broken.append(Violation(FAMILY, "limit", message, f"/groups/{index}"))
    return tuple(broken)


def explain(problem: ModuloProblem, schedule: ModuloSchedule) -> tuple[str, ...]:
    """Peak of every group's registers and who holds it."""
    lines = []
    for group in problem.groups:
        top = peak(_spans(problem, schedule, group.name), schedule.interval)
        lines.append(f"{group.name}: at most {top.total} of {group.registers} registers per thread ({top.who})")
    return tuple(lines)


def _spans(problem: ModuloProblem, schedule: ModuloSchedule, group: str) -> list[Span]:
    mine = [op for op in problem.ops if op.registers and schedule.groups.get(op.id) == group]
    return [Span(op.id, *schedule.lifetime(problem, op), op.registers) for op in mine]
