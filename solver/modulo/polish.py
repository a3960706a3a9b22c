"""At a given interval: the shortest schedule, then the smallest memory peaks, then the fewest hand-offs between groups."""

from warpwright.solver.engines.model import Expr, Literal
from warpwright.solver.modulo.encoding import ModuloEncoding, weighted
from warpwright.solver.modulo.families import memory
from warpwright.solver.modulo.problem import ModuloProblem, ModuloSchedule
from warpwright.solver.modulo.run import SearchRun, checked, encode
from warpwright.solver.modulo.size import LARGEST_MODEL, joint_size

__all__ = ["length_of", "polish"]

SHARE = 4
"""Shortening may use a quarter of the work of the interval: it never changes what was proven."""


def polish(run: SearchRun, problem: ModuloProblem, schedule: ModuloSchedule) -> tuple[ModuloSchedule, bool]:
    """The schedule or a better one of the same interval, and whether no shorter one exists.

    If the joint model would be too large, the schedule is not changed: with every operation pinned to its group the model
    of 200 operations took 16 s of processor time and found nothing.
    """
    if run.over() or joint_size(problem) > LARGEST_MODEL:
        return schedule, False
    encoding = encode(problem, schedule.interval, schedule.interval)
    limit = max(run.budget.work_limit // SHARE, 1)
    encoding.model.minimize(*_objectives(encoding))
    result = run.ask(encoding, limit)
    if result.values is None:
        return schedule, False
    better = checked(problem, encoding.schedule(result.values))
    proven = len(result.bounds) > 0 and result.bounds[0] == result.objectives[0]
    return (better if better.length(problem) <= schedule.length(problem) else schedule), proven


def length_of(encoding: ModuloEncoding) -> Expr:
    """The cycles from the first issue of an iteration to its last end, as an expression of the model that is at least that."""
    model, problem = encoding.model, encoding.problem
    longest = (problem.max_stages + 1) * encoding.high + max(op.cycles for op in problem.ops)
    first, length = model.integer("first", 0, longest), model.integer("length", 0, longest)
    for op in problem.ops:
        model.at_least(encoding.time(op) - first, 0)
        model.at_least(length + first - encoding.time(op), op.cycles)
    return Expr(((1, length),))


def _objectives(encoding: ModuloEncoding) -> list[Expr]:
    """Length, then the sum of memory peaks, then hand-offs between groups."""
    model, problem = encoding.model, encoding.problem
    levels = [length_of(encoding)]
    peaks = []
    for store in problem.memories:
        peak = model.integer(f"peak:{store.name}", 0, store.capacity)
        for op in problem.ops:
            if any(name == store.name and size for name, size in op.memory):
                model.at_least(peak - memory.held(encoding, op, store.name), 0)
        peaks.append((1, Expr(((1, peak),))))
    crossings = [encoding.crosses(edge) for edge in problem.edges if edge.value]
    counted = [(-1, _number(crossing)) for crossing in crossings if isinstance(crossing, Literal)]
    return [*levels, *([weighted(peaks)] if peaks else []), *([weighted(counted)] if counted else [])]


def _number(literal: Literal) -> Expr:
    """Minus one when the literal holds, up to a constant: crossings are negations of being together."""
    return Expr(((-1 if literal.positive else 1, literal.var),))
