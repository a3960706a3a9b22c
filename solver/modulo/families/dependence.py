"""Dependence: a consumer issues at least the latency after its producer, minus the interval for each iteration of distance.

Crossing to another group adds the producer's spill cycles (Twill, arXiv 2512.18134, section 4.2: precedence and spills).
"""

from warpwright.solver.domain.verdict import Violation
from warpwright.solver.engines.model import Literal
from warpwright.solver.modulo.encoding import Encoding
from warpwright.solver.modulo.problem import Edge, ModuloProblem, ModuloSchedule

__all__ = ["FAMILY", "build", "check", "explain"]

FAMILY = "dependence"


def build(encoding: Encoding) -> None:
    """One difference constraint per edge, and a second one, guarded by the crossing, if a hand-off costs cycles."""
    model, problem = encoding.model, encoding.problem
    with model.family(FAMILY):
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


def check(problem: ModuloProblem, schedule: ModuloSchedule) -> tuple[Violation, ...]:
    """Edges whose consumer issues too early."""
    broken = []
    for index, edge in enumerate(problem.edges):
        need, gap = _need(problem, schedule, edge), _gap(schedule, edge)
        if gap < need:
            message = f"{edge.target} issues {gap} cycles after {edge.source}, but needs {need}"
            broken.append(Violation(FAMILY, "latency", message, f"/edges/{index}"))
    return tuple(broken)


def explain(problem: ModuloProblem, schedule: ModuloSchedule) -> tuple[str, ...]:
    """Edges without slack, in the order of the problem."""
    tight = [e for e in problem.edges if _gap(schedule, e) == _need(problem, schedule, e)]
    return tuple(f"{e.source} -> {e.target}: {_need(problem, schedule, e)} cycles, no slack" for e in tight)


def _gap(schedule: ModuloSchedule, edge: Edge) -> int:
    return schedule.starts[edge.target] - schedule.starts[edge.source] + edge.distance * schedule.interval


def _need(problem: ModuloProblem, schedule: ModuloSchedule, edge: Edge) -> int:
    spill = problem.op(edge.source).spill_cycles if edge.value and schedule.crosses(edge) else 0
    return edge.latency + spill
