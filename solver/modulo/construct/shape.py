"""A problem in the form that the constructive search reads: numbers instead of names, and longest paths between operations."""

from dataclasses import dataclass

from warpwright.solver.modulo.bounds import shortest_life
from warpwright.solver.modulo.construct.spans import peak
from warpwright.solver.modulo.problem import ModuloProblem, ModuloWait

__all__ = ["Link", "Shape", "longest_paths", "meets_itself"]


@dataclass(frozen=True, slots=True)
class Link:
    """An edge seen from one of its ends: ``other`` is the operation at the other end."""

    other: int
    latency: int
    distance: int
    spill: int
    """Cycles that a crossing adds."""
    hold: int
    value: bool
    drains: bool
    """Waited for always."""
    meets: bool
    """Waited for if it crosses."""


@dataclass(frozen=True, slots=True)
class Shape:
    """Columns of a problem by operation index. Without groups everything is on one virtual group 0 without limits."""

    problem: ModuloProblem
    cycles: list[int]
    uses: list[list[tuple[int, int, int, int]]]
    """Unit, offset, cycles, amount."""
    registers: list[int]
    memory: list[list[tuple[int, int]]]
    places: list[list[int]]
    into: list[list[Link]]
    out: list[list[Link]]
    shortest: list[int]
    grouped: bool
    unit_capacity: list[int]
    memory_capacity: list[int]
    register_limit: list[int]

    @staticmethod
    def of(problem: ModuloProblem) -> "Shape":
        """The columns of a checked problem."""
        units = {unit.name: number for number, unit in enumerate(problem.units)}
        memories = {memory.name: number for number, memory in enumerate(problem.memories)}
        groups = {group.name: number for number, group in enumerate(problem.groups)}
        ops = {op.id: number for number, op in enumerate(problem.ops)}
        grouped = bool(groups)
        into: list[list[Link]] = [[] for _ in ops]
        out: list[list[Link]] = [[] for _ in ops]
        for edge in problem.edges:
            source, target = ops[edge.source], ops[edge.target]
            spill = problem.ops[source].spill_cycles if edge.value and grouped else 0
            drains = edge.value and edge.wait is ModuloWait.ALWAYS
            meets = edge.value and edge.wait is ModuloWait.ACROSS
            rest = (edge.latency, edge.distance, spill, edge.hold, edge.value, drains, meets)
            out[source].append(Link(target, *rest))
            into[target].append(Link(source, *rest))
        return Shape(
            problem,
            [op.cycles for op in problem.ops],
            [[(units[u.unit], u.offset, u.cycles, u.amount) for u in op.uses if u.cycles] for op in problem.ops],
            [op.registers if grouped else 0 for op in problem.ops],
            [[(memories[name], size) for name, size in op.memory if size] for op in problem.ops],
            [[groups[group.name] for group in problem.candidates(op)] if grouped else [0] for op in problem.ops],
            into,
            out,
            [shortest_life(problem, op) for op in problem.ops],
            grouped,
            [unit.capacity for unit in problem.units],
            [memory.capacity for memory in problem.memories],
            [group.registers for group in problem.groups] or [0],
        )


def longest_paths(shape: Shape, interval: int) -> list[dict[int, int]]:
    """Least cycles from each operation to each that depends on it, directly or indirectly; without hand-offs.

    The interval must satisfy every recurrence. Sparse Floyd-Warshall: rows hold only what is reached.
    """
    rows: list[dict[int, int]] = [{} for _ in shape.out]
    for source, links in enumerate(shape.out):
        for link in links:
            gap = link.latency - link.distance * interval
            if gap > rows[source].get(link.other, gap - 1):
                rows[source][link.other] = gap
    into: list[set[int]] = [set() for _ in rows]
    for source, row in enumerate(rows):
        for target in row:
            into[target].add(source)
    for middle, through in enumerate(rows):
        for source in list(into[middle]):
            if source == middle:
                continue
            row, first = rows[source], rows[source][middle]
            for target, gap in through.items():
                if first + gap > row.get(target, first + gap - 1):
                    row[target] = first + gap
                    into[target].add(source)
    return rows


def meets_itself(shape: Shape, interval: int) -> bool:
    """Whether some operation's uses alone overflow a unit at this interval, wherever it is issued."""
    for uses in shape.uses:
        for unit in {use[0] for use in uses}:
            lives = [(offset, offset + cycles, amount, 0) for u, offset, cycles, amount in uses if u == unit]
            if peak(lives, interval)[0] > shape.unit_capacity[unit]:
                return True
    return False
