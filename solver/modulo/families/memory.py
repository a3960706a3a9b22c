"""Memory: results that live at the same time fit into each memory together, counting the copies of all iterations.

(Twill, arXiv 2512.18134, section 4.2: liveness inside the solver, so that buffering depth follows from the schedule.)
"""

from warpwright.solver.domain.fact import Fact
from warpwright.solver.domain.verdict import Violation
from warpwright.solver.engines.model import Expr
from warpwright.solver.modulo.encoding import ModuloEncoding, weighted
from warpwright.solver.modulo.problem import ModuloOp, ModuloProblem, ModuloSchedule
from warpwright.solver.modulo.schedule_reader import ModuloReading
from warpwright.solver.modulo.spans import HeldSpan, crowded, peak

__all__ = ["NAME", "build", "check", "explain", "held"]

NAME = "memory"


def build(encoding: ModuloEncoding) -> None:
    """The sum of live footprints at every birth of a result."""
    with encoding.model.family(NAME):
        for memory in encoding.problem.memories:
            tenants = _tenants(encoding.problem, memory.name)
            for op, _ in tenants:
                encoding.model.at_most(
                    held(encoding, op, memory.name), memory.capacity, note=f"{memory.name} when {op.id} is born"
                )


def held(encoding: ModuloEncoding, at: ModuloOp, memory: str) -> Expr:
    """Size of everything alive in a memory at an operation's issue."""
    point = encoding.starts[at.id]
    tenants = _tenants(encoding.problem, memory)
    return weighted((size, encoding.copies(point, encoding.starts[op.id], encoding.end(op))) for op, size in tenants)


def check(reading: ModuloReading) -> tuple[Violation, ...]:
    """Memories that overflow, with the cycle and the live results."""
    problem, schedule = reading.problem, reading.schedule
    broken = []
    for index, memory in enumerate(problem.memories):
        found = crowded(_spans(problem, schedule, memory.name), schedule.interval, memory.capacity)
        if found:
            message = (
                f"{memory.name} holds {memory.capacity}, but {found.total} live in cycle {found.cycle}: {found.who}"
            )
            broken.append(Violation(NAME, "capacity", message, f"/memories/{index}"))
    return tuple(broken)


def explain(problem: ModuloProblem, reading: ModuloReading | None) -> tuple[Fact, ...]:
    """Peak of every memory and who holds it; without a schedule, its largest result."""
    facts = []
    for memory in problem.memories:
        if reading is None:
            op, size = max(_tenants(problem, memory.name), key=lambda tenant: tenant[1], default=(None, 0))
            note = f"the largest result is {op.id}'s" if op is not None else ""
            facts.append(Fact(memory.name, size, memory.capacity, "in use", note=note))
            continue
        top = peak(_spans(problem, reading.schedule, memory.name), reading.schedule.interval)
        note = f"fullest in cycle {top.cycle}: {top.who}" if top.total else ""
        facts.append(Fact(memory.name, top.total, memory.capacity, "in use", note=note))
    return tuple(facts)


def _tenants(problem: ModuloProblem, memory: str) -> list[tuple[ModuloOp, int]]:
    return [(op, size) for op in problem.ops for name, size in op.memory if name == memory and size]


def _spans(problem: ModuloProblem, schedule: ModuloSchedule, memory: str) -> list[HeldSpan]:
    tenants = _tenants(problem, memory)
    return [HeldSpan(op.id, *schedule.lifetime(problem, op), size) for op, size in tenants]
