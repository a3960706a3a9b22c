"""Memory: results that live at the same time fit into each memory together, counting the copies of all iterations.

(Twill, arXiv 2512.18134, section 4.2: liveness inside the solver, so that buffering depth follows from the schedule.)
"""

from warpwright.solver.domain.verdict import Violation
from warpwright.solver.engines.model import Expr
from warpwright.solver.modulo.encoding import Encoding, weighted
from warpwright.solver.modulo.problem import ModuloProblem, ModuloSchedule, Op
from warpwright.solver.modulo.spans import Span, crowded, peak

__all__ = ["FAMILY", "build", "check", "explain", "held"]

FAMILY = "memory"


def build(encoding: Encoding) -> None:
    """The sum of live footprints at every birth of a result."""
    with encoding.model.family(FAMILY):
        for memory in encoding.problem.memories:
            tenants = _tenants(encoding.problem, memory.name)
            for op, _ in tenants:
                encoding.model.at_most(
                    held(encoding, op, memory.name), memory.capacity, note=f"{memory.name} when {op.id} is born"
                )


def held(encoding: Encoding, at: Op, memory: str) -> Expr:
    """Size of everything alive in a memory at an operation's issue."""
    point = encoding.starts[at.id]
    tenants = _tenants(encoding.problem, memory)
    return weighted((size, encoding.copies(point, encoding.starts[op.id], encoding.end(op))) for op, size in tenants)


def check(problem: ModuloProblem, schedule: ModuloSchedule) -> tuple[Violation, ...]:
    """Memories that overflow, with the cycle and the live results."""
    broken = []
    for index, memory in enumerate(problem.memories):
        found = crowded(_spans(problem, schedule, memory.name), schedule.interval, memory.capacity)
        if found:
            message = f"{memory.name} holds {memory.capacity}, but {found.total} are in use in cycle {found.cycle}: {found.who}"
            broken.append(Violation(FAMILY, "capacity", message, f"/memories/{index}"))
    return tuple(broken)


def explain(problem: ModuloProblem, schedule: ModuloSchedule) -> tuple[str, ...]:
    """Peak of every memory and who holds it."""
    lines = []
    for memory in problem.memories:
        top = peak(_spans(problem, schedule, memory.name), schedule.interval)
        lines.append(f"{memory.name}: at most {top.total} of {memory.capacity} (cycle {top.cycle}: {top.who})")
    return tuple(lines)


def _tenants(problem: ModuloProblem, memory: str) -> list[tuple[Op, int]]:
    return [(op, size) for op in problem.ops for name, size in op.memory if name == memory and size]


def _spans(problem: ModuloProblem, schedule: ModuloSchedule, memory: str) -> list[Span]:
    tenants = _tenants(problem, memory)
    return [Span(op.id, *schedule.lifetime(problem, op), size) for op, size in tenants]
