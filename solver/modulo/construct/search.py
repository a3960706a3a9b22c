"""Iterative modulo scheduling with ejection: places one operation after the other, and ejects others if one is stuck.

After Rau (iterative modulo scheduling, MICRO-27, 1994) for the eviction, and Nagata and Braysy (guided ejection search, 2009)
for the prices: an operation that could not be placed becomes more expensive to eject. Everything is deterministic.
"""

import time
from math import inf
from random import Random

from warpwright.solver.modulo.bounds import lower_bounds
from warpwright.solver.modulo.construct.insertion import Insertion
from warpwright.solver.modulo.construct.orders import orders
from warpwright.solver.modulo.construct.partial import Partial
from warpwright.solver.modulo.construct.shape import Shape, longest_paths, meets_itself
from warpwright.solver.modulo.problem import ModuloProblem, ModuloSchedule

__all__ = ["construct"]

QUESTIONS_A_UNIT = 50
"""Queries of the partial schedule that take about one work unit (a millisecond)."""
SHARES, QUESTIONS_AN_OP = 3, 100
"""One attempt uses at most this fraction (1/n) of the whole search, but at least this many queries per operation."""
LOOSE = 1.5
"""From this multiple of the lower bound on, the order by height comes first, with the whole work: it leaves every window open."""
INSERTIONS = 8
"""Insertions of one attempt, as a multiple of the number of operations."""


def construct(
    problem: ModuloProblem, interval: int, *, limit: int, seed: int = 0, ends_at: float = inf
) -> tuple[ModuloSchedule | None, int]:
    """A schedule of this interval that some order of insertions leads to, or None (which proves nothing), and the work spent.

    Args:
        problem: A checked problem without arithmetic conflicts.
        interval: At least the recurrence bound.
        limit: Work units.
        seed: Another seed tries other orders and ties.
        ends_at: The latest time to stop, on :func:`time.monotonic`'s clock.
    """
    shape = Shape.of(problem)
    if meets_itself(shape, interval):
        return None, 1
    paths = longest_paths(shape, interval)
    random = Random(seed)
    base = orders(shape, interval, paths)
    loose = interval >= LOOSE * max(bound.cycles for bound in lower_bounds(problem))
    shares = 1 if loose else SHARES
    if loose:
        base.reverse()
    questions, attempt = limit * QUESTIONS_A_UNIT, len(base) if seed else 0
    trouble = [0] * len(shape.cycles)
    asked = 0
    while asked < questions and time.monotonic() < ends_at:
        order = base[attempt % len(base)]
        if attempt >= len(base):
            order = _troubled_first(order, trouble, random)
        insertion = Insertion(Partial(shape, interval, paths), order, random)
        share = min(questions - asked, max(questions // shares, QUESTIONS_AN_OP * len(order)))
        for _ in range(INSERTIONS * len(order) + 20):
            late = insertion.partial.asked >= share or time.monotonic() >= ends_at
            if late or not insertion.step():
                break
        asked += insertion.partial.asked + len(order)  # creating the partial schedule costs work, too
        if insertion.done:
            return _schedule(problem, interval, insertion.partial), -(-asked // QUESTIONS_A_UNIT)
        trouble = [a + b - 1 for a, b in zip(trouble, insertion.price, strict=True)]
        attempt += 1
    return None, -(-asked // QUESTIONS_A_UNIT)


def _troubled_first(order: list[int], trouble: list[int], random: Random) -> list[int]:
    """The order with troublesome operations moved forward (squeaky wheel), and a little noise."""
    count = len(order)
    most = max(max(trouble), 1)
    rank = {op: place - count * trouble[op] / most + random.random() * 2 for place, op in enumerate(order)}
    return sorted(order, key=lambda op: rank[op])


def _schedule(problem: ModuloProblem, interval: int, partial: Partial) -> ModuloSchedule:
    starts = [at for at in partial.start if at is not None]
    first = min(starts)
    names = [group.name for group in problem.groups]
    groups = {op.id: names[partial.group[number]] for number, op in enumerate(problem.ops)} if names else {}
    return ModuloSchedule(interval, {op.id: at - first for op, at in zip(problem.ops, starts, strict=True)}, groups)
