"""Lower bounds of the interval that need no engine: units, memories, registers, recurrences, and chains of waits.

A schedule that meets the largest of them is optimal without any further proof. The recurrence bound is the maximum cycle
ratio (latency over distance), found by bisection on the interval with Bellman-Ford; it is exact.
"""

from collections.abc import Iterable

from warpwright.solver.domain.verdict import Bound, Conflict
from warpwright.solver.modulo.problem import ModuloOp, ModuloProblem, ModuloUnit, Use

__all__ = ["impossible", "lower_bounds", "shortest_life"]


def lower_bounds(problem: ModuloProblem) -> tuple[Bound, ...]:
    """All bounds, the largest first; ties keep the order units, memories, registers, recurrence."""
    found = [*_units(problem), *_memories(problem), *_registers(problem), *_recurrence(problem)]
    found.append(Bound(1, "an interval has at least one cycle"))
    return tuple(sorted(found, key=lambda bound: -bound.cycles))


def impossible(problem: ModuloProblem) -> tuple[Conflict, ...]:
    """Reasons why no interval is possible, found by arithmetic; empty if there are none."""
    reasons: list[Conflict] = []
    for index, op in enumerate(problem.ops):
        place = f"/ops/{index}"
        if problem.groups and not problem.candidates(op):
            kind = "of variable latency" if op.variable_latency else "of fixed latency"
            message = f"{op.id} needs a group of {op.warps} warps for operations {kind}, but there is none"
            reasons.append(Conflict("placement", message, f"add such a group of {op.warps} warps", place))
        for use in op.uses:
            capacity = next(unit.capacity for unit in problem.units if unit.name == use.unit)
            if use.amount > capacity:
                message = f"{op.id} takes {use.amount} of {use.unit}, which has {capacity}"
                reasons.append(Conflict("units", message, f"raise the capacity of {use.unit} to {use.amount}", place))
        for memory, size in op.memory:
            capacity = next(m.capacity for m in problem.memories if m.name == memory)
            if size > capacity:
                message = f"{op.id} holds {size} of {memory}, which has {capacity}"
                reasons.append(Conflict("memory", message, f"raise the capacity of {memory} to {size}", place))
        limit = max((group.registers for group in problem.candidates(op)), default=op.registers)
        if op.registers > limit:
            message = f"{op.id} holds {op.registers} registers per thread; its groups have at most {limit}"
            reasons.append(Conflict("registers", message, f"raise the limit to {op.registers}", place))
    cycle = _cycle_without_distance(problem)
    if cycle:
        message = f"{' -> '.join(cycle)} depends on itself within one iteration"
        reasons.append(Conflict("dependence", message, "give one of these edges a distance", "/edges"))
    return tuple(reasons)


def _units(problem: ModuloProblem) -> Iterable[Bound]:
    for unit in problem.units:
        busy = sum(use.cycles * use.amount for op in problem.ops for use in op.uses if use.unit == unit.name)
        whole = [use.cycles for op in problem.ops for use in op.uses if use.unit == unit.name and _alone(use, unit)]
        if busy:
            yield Bound(max(-(-busy // unit.capacity), sum(whole)), f"resource:{unit.name}")


def _alone(use: Use, unit: ModuloUnit) -> bool:
    """Two such uses never fit at the same time, so their cycles add up."""
    return 2 * use.amount > unit.capacity


def _memories(problem: ModuloProblem) -> Iterable[Bound]:
    for memory in problem.memories:
        area = sum(
            size * shortest_life(problem, op) for op in problem.ops for name, size in op.memory if name == memory.name
        )
        if area:
            yield Bound(-(-area // memory.capacity), f"memory:{memory.name}")


def _registers(problem: ModuloProblem) -> Iterable[Bound]:
    """The least register-cycles of the results, divided by the registers of all groups of that kind."""
    for kind in (False, True):
        limit = sum(group.registers for group in problem.groups if group.variable_latency is kind)
        ops = [op for op in problem.ops if op.registers and op.variable_latency is kind]
        area = sum(op.registers * shortest_life(problem, op) for op in ops)
        if limit and area:
            yield Bound(-(-area // limit), "registers")


def shortest_life(problem: ModuloProblem, op: ModuloOp) -> int:
    """The least lifetime of a result in cycles: while it is written, and until its slowest consumer can have read it."""
    return max([max(op.cycles, 1), *(edge.latency + edge.hold for edge in problem.users(op))])


def _recurrence(problem: ModuloProblem) -> Iterable[Bound]:
    if _cycle_without_distance(problem):
        return
    high = sum(max(edge.latency, 0) for edge in problem.edges) + 1
    if not _positive_cycle(problem, 0):
        return
    low = 0
    while high - low > 1:
        middle = (low + high) // 2
        if _positive_cycle(problem, middle):
            low = middle
        else:
            high = middle
    through = _positive_cycle(problem, low)
    yield Bound(high, f"recurrence:{'->'.join(through)}")


def _cycle_without_distance(problem: ModuloProblem) -> tuple[str, ...]:
    """A cycle of edges that no interval satisfies: positive latency within one iteration."""
    return _positive_cycle(problem, sum(max(edge.latency, 0) for edge in problem.edges) + 1)


def _positive_cycle(problem: ModuloProblem, interval: int) -> tuple[str, ...]:
    """Operations of a cycle whose latencies exceed its distances times the interval; empty when there is none."""
    index = {op.id: number for number, op in enumerate(problem.ops)}
    weights = [(index[e.source], index[e.target], e.latency - e.distance * interval) for e in problem.edges]
    longest = [0] * len(index)
    parent = [-1] * len(index)
    moved = -1
    for _ in range(len(index)):
        moved = -1
        for source, target, weight in weights:
            if longest[source] + weight > longest[target]:
                longest[target] = longest[source] + weight
                parent[target] = source
                moved = target
        if moved < 0:
            return ()
    for _ in range(len(index)):
        moved = parent[moved]
    walk, here = [moved], parent[moved]
    while here != moved:
        walk.append(here)
        here = parent[here]
    walk.append(moved)
    return tuple(problem.ops[number].id for number in reversed(walk))
