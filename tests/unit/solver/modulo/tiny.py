"""Tiny problems for tests, and their optimum by exhaustive search over intervals, issue cycles and groups."""

from collections.abc import Iterator
from itertools import product

from warpwright.solver.modulo import (
    Group,
    ModuloEdge,
    ModuloMemory,
    ModuloOp,
    ModuloProblem,
    ModuloSchedule,
    ModuloUnit,
    ModuloWait,
    Use,
)
from warpwright.solver.modulo.replay import replay
from warpwright.solver.modulo.solve import longest_interval

__all__ = ["chain", "least_interval", "schedules", "two_groups"]


def schedules(problem: ModuloProblem, interval: int, *, ordered: bool = False) -> Iterator[ModuloSchedule]:
    """Every assignment of issue cycles and groups of this interval; ``ordered`` leaves out broken latencies."""
    names = [op.id for op in problem.ops]
    places = [[group.name for group in problem.candidates(op)] or [""] for op in problem.ops]
    for starts in _starts(problem, interval, {}, ordered=ordered):
        for groups in product(*places):
            chosen = dict(zip(names, groups, strict=True)) if problem.groups else {}
            yield ModuloSchedule(interval, starts, chosen)


def _starts(
    problem: ModuloProblem, interval: int, placed: dict[str, int], *, ordered: bool
) -> Iterator[dict[str, int]]:
    if len(placed) == len(problem.ops):
        yield placed
        return
    name = problem.ops[len(placed)].id
    for start in range(problem.max_stages * interval):
        wider = {**placed, name: start}
        late = (
            wider[edge.target] + edge.distance * interval - wider[edge.source] >= edge.latency
            for edge in problem.edges
            if edge.source in wider and edge.target in wider
        )
        if not ordered or all(late):
            yield from _starts(problem, interval, wider, ordered=ordered)


def least_interval(problem: ModuloProblem, most: int = 10) -> int | None:
    """The least interval with a legal schedule, by trying everything up to ``most``; None when there is none."""
    for interval in range(1, min(longest_interval(problem), most) + 1):
        if any(not replay(problem, schedule) for schedule in schedules(problem, interval, ordered=True)):
            return interval
    return None


def chain(*, capacity: int = 2, stages: int = 3) -> ModuloProblem:
    """Load, multiply, store: one unit each, a buffer between load and multiply."""
    return ModuloProblem(
        "chain",
        (ModuloUnit("copy", 1), ModuloUnit("core", 1)),
        (
            ModuloOp("load", 2, (Use("copy", 2),), memory=(("shared", 1),)),
            ModuloOp("multiply", 3, (Use("core", 3),)),
            ModuloOp("store", 1, (Use("copy", 1),)),
        ),
        (ModuloEdge("load", "multiply", 4, hold=3), ModuloEdge("multiply", "store", 3)),
        (ModuloMemory("shared", capacity),),
        max_stages=stages,
    )


def two_groups(*, registers: int = 8, spill: int = 2) -> ModuloProblem:
    """An asynchronous product that must be drained, and element-wise work that may go to another group."""
    return ModuloProblem(
        "two-groups",
        (ModuloUnit("core", 1), ModuloUnit("alu", 1)),
        (
            ModuloOp("product", 3, (Use("core", 3),), 4, 4, spill_cycles=spill),
            ModuloOp("softmax", 3, (Use("alu", 3),), 4, 4, spill_cycles=spill),
            ModuloOp("output", 3, (Use("core", 3),), 4, 4),
        ),
        (
            ModuloEdge("product", "softmax", 3, wait=ModuloWait.ALWAYS),
            ModuloEdge("softmax", "output", 3),
            ModuloEdge("output", "output", 3, 1),
        ),
        (),
        (Group("left", 4, registers), Group("right", 4, registers)),
        max_stages=3,
    )
