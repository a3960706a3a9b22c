"""Guesses of the placement, to try before the joint search: few hand-offs at an even load.

A guess pins every operation to one group, which makes the timing problem many times smaller. A schedule that meets the
lower bound under a guess is optimal for the whole problem; that a guess has none proves nothing, and the joint search continues.
"""

from collections.abc import Iterator
from dataclasses import replace

from warpwright.solver.engines import Budget, Engine
from warpwright.solver.engines.model import Literal, Model, linear
from warpwright.solver.modulo.bounds import shortest_life
from warpwright.solver.modulo.problem import Group, ModuloOp, ModuloProblem

__all__ = ["guesses"]

WORK = 200
"""Work units for one guess; the model has one boolean per operation and group."""
SPREADS = (1.25, 2.0)
"""How far the load of a group may exceed the even share."""
MOST = 2

_On = dict[tuple[str, str], Literal]


def guesses(problem: ModuloProblem, interval: int, engine: Engine, seed: int) -> Iterator[ModuloProblem]:
    """At most ``MOST`` copies of the problem with every operation pinned, all different, those that use most groups first.

    Problems in which no operation has a choice give no guess: their joint model is equally small.
    """
    seen: set[tuple[str, ...]] = set()
    most = max((len(_fitting(problem, op)) for op in problem.ops), default=0)
    if all(len(problem.candidates(op)) <= 1 for op in problem.ops):
        return
    for used in range(most, 0, -1):
        for spread in SPREADS:
            places = _place(problem, interval, used, spread, engine, seed)
            if places is None or places in seen:
                continue
            seen.add(places)
            pinned = (replace(op, groups=(name,)) for op, name in zip(problem.ops, places, strict=True))
            yield replace(problem, ops=tuple(pinned))
            if len(seen) == MOST:
                return


def _fitting(problem: ModuloProblem, op: ModuloOp) -> list[Group]:
    """The smallest candidates of an operation: a single warp suffices for it and leaves the warpgroups free to wait."""
    candidates = problem.candidates(op)
    least = min((group.warps for group in candidates), default=0)
    return [group for group in candidates if group.warps == least]


def _place(
    problem: ModuloProblem, interval: int, used: int, spread: float, engine: Engine, seed: int
) -> tuple[str, ...] | None:
    """The placement with the cheapest hand-offs in which ``used`` of the choosable groups share the load evenly."""
    model = Model()
    on = {
        (op.id, group.name): model.boolean(f"{op.id}:{group.name}")
        for op in problem.ops
        for group in _fitting(problem, op)
    }
    for op in problem.ops:
        model.exactly_one([on[op.id, group.name] for group in _fitting(problem, op)])
    for rank, group in enumerate(_shared(problem)):
        mine = [(op, on[op.id, group.name]) for op in problem.ops if (op.id, group.name) in on]
        share = sum(op.cycles for op, _ in mine) * spread / used if rank < used else 0
        model.at_most(linear(*((op.cycles, literal.var) for op, literal in mine)), int(share))
        area = linear(*((op.registers * shortest_life(problem, op), literal.var) for op, literal in mine))
        model.at_most(area, group.registers * interval)
    pairs = {(edge.source, edge.target) for edge in problem.edges if edge.value and edge.source != edge.target}
    costs = [_crossing(problem, model, on, *pair) for pair in sorted(pairs)]
    model.minimize(linear(*((price, literal.var) for price, literal in costs)))
    result = engine.solve(model, Budget(WORK, 10.0, seed))
    if result.values is None:
        return None
    chosen = {op: group for (op, group), literal in on.items() if result.values[literal.var.index]}
    return tuple(chosen[op.id] for op in problem.ops)


def _shared(problem: ModuloProblem) -> list[Group]:
    """Groups that an operation with a choice may choose, as the problem orders them."""
    choosers = [op for op in problem.ops if len(_fitting(problem, op)) > 1]
    choosable = {group.name for op in choosers for group in _fitting(problem, op)}
    return [group for group in problem.groups if group.name in choosable]


def _crossing(problem: ModuloProblem, model: Model, on: _On, source: str, target: str) -> tuple[int, Literal]:
    """The cost of a hand-off, and the literal that says whether it happens."""
    left, right = problem.op(source), problem.op(target)
    crossing = model.boolean(f"crossing:{source}:{target}")
    for group in _fitting(problem, left):
        there = [on[target, group.name]] if (target, group.name) in on else []
        model.any_of([crossing, *there], when=[on[source, group.name]])
    return 1 + left.spill_cycles + right.registers, crossing
