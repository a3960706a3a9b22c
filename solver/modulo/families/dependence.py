"""Dependence: a consumer issues at least the latency after its producer, minus the interval for each iteration of distance.

Crossing to another group adds the producer's spill cycles (Twill, arXiv 2512.18134, section 4.2: precedence and spills).
"""

from warpwright.solver.domain.fact import Fact
from warpwright.solver.domain.verdict import Violation
from warpwright.solver.engines.model import Literal
from warpwright.solver.modulo.encoding import ModuloEncoding
from warpwright.solver.modulo.problem import ModuloEdge, ModuloProblem, ModuloSchedule
from warpwright.solver.modulo.schedule_reader import ModuloReading

__all__ = ["NAME", "build", "check", "explain"]

NAME = "dependence"


def build(encoding: ModuloEncoding) -> None:
    """One difference constraint per edge, and a second one, guarded by the crossing, if a hand-off costs cycles."""
    model, problem = encoding.model, encoding.problem
    with model.family(NAME):
        for edge in problem.edges:
            source, target = encoding.starts[edge.source], encoding.starts[edge.target].shifted(edge.distance)
            note = f"{edge.source} -> {edge.target}"
            crossing = encoding.crosses(edge) if edge.value else False
            handoff = edge.latency + problem.op(edge.source).spill_cycles
            if crossing is True:
                encoding.follows(source, target, handoff, note=note)
                continue
            encoding.follows(source, target, edge.latency, note=note)
            if isinstance(crossing, Literal) and handoff > edge.latency:
                encoding.follows(source, target, handoff, when=[crossing], note=f"{note} across groups")


def check(reading: ModuloReading) -> tuple[Violation, ...]:
    """Edges whose consumer issues too early."""
    problem, schedule = reading.problem, reading.schedule
    broken = []
    for index, edge in enumerate(problem.edges):
        need, gap = _need(problem, schedule, edge), _gap(schedule, edge)
        if gap < need:
            message = f"{edge.target} issues {gap} cycles after {edge.source}, but needs {need}"
            broken.append(Violation(NAME, "latency", message, f"/edges/{index}"))
    return tuple(broken)


def explain(problem: ModuloProblem, reading: ModuloReading | None) -> tuple[Fact, ...]:
    """Edges without slack, in the order of the problem; without a schedule, what every edge needs."""
    if reading is None:
        return tuple(Fact(f"{e.source} -> {e.target}", e.latency, None, "cycles") for e in problem.edges)
    schedule = reading.schedule
    tight = [e for e in problem.edges if _gap(schedule, e) == _need(problem, schedule, e)]
    return tuple(
        Fact(f"{e.source} -> {e.target}", _need(problem, schedule, e), _gap(schedule, e), "cycles", note="no slack")
        for e in tight
    )


def _gap(schedule: ModuloSchedule, edge: ModuloEdge) -> int:
    return schedule.starts[edge.target] - schedule.starts[edge.source] + edge.distance * schedule.interval


def _need(problem: ModuloProblem, schedule: ModuloSchedule, edge: ModuloEdge) -> int:
    spill = problem.op(edge.source).spill_cycles if edge.value and schedule.crosses(edge) else 0
    return edge.latency + spill
