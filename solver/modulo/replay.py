"""Independent check of an answer, cycle by cycle: the steady state is laid out in an array, one cell per cycle.

It shares no code with the families' closed forms. Every use, result and wait is written into the cells it covers, copy
by copy of the iterations, and each cell is compared with its limit.
"""

from warpwright.solver.domain.verdict import Violation
from warpwright.solver.modulo.problem import ModuloProblem, ModuloSchedule, ModuloWait

__all__ = ["replay"]


class _Strip:
    """One interval of the steady state: amounts by cycle, filled from absolute spans of one iteration."""

    def __init__(self, interval: int) -> None:
        self._whole = 0
        self._steps = [0] * (interval + 1)
        self._interval = interval

    def add(self, start: int, end: int, amount: int) -> None:
        """Adds ``amount`` to every cycle of ``[start, end)``, all iterations' copies folded into one interval."""
        if end <= start:
            return
        rounds, rest = divmod(end - start, self._interval)
        self._whole += rounds * amount
        first = start % self._interval
        last = first + rest
        self._steps[first] += amount
        self._steps[min(last, self._interval)] -= amount
        if last > self._interval:
            self._steps[0] += amount
            self._steps[last - self._interval] -= amount

    def cells(self) -> list[int]:
        """The amount in every cycle."""
        total, cells = self._whole, []
        for step in self._steps[: self._interval]:
            total += step
            cells.append(total)
        return cells


def replay(problem: ModuloProblem, schedule: ModuloSchedule) -> tuple[Violation, ...]:
    """Every rule that the schedule breaks, found by checking each cycle of the steady state and each edge."""
    interval = schedule.interval
    if interval < 1 or set(schedule.starts) != {op.id for op in problem.ops}:
        return (Violation("schedule", "complete", "an interval and one start for every operation are needed"),)
    broken = [*_shape(problem, schedule), *_edges(problem, schedule)]
    if problem.groups and any(op.id not in schedule.groups for op in problem.ops):
        return tuple(broken)
    for unit in problem.units:
        strip = _Strip(interval)
        for op in problem.ops:
            for use in op.uses:
                if use.unit == unit.name:
                    begin = schedule.starts[op.id] + use.offset
                    strip.add(begin, begin + use.cycles, use.amount)
        broken += _over(strip, unit.capacity, "units", unit.name)
    for memory in problem.memories:
        strip = _Strip(interval)
        for op in problem.ops:
            for name, size in op.memory:
                if name == memory.name:
                    strip.add(*_life(problem, schedule, op.id, op.cycles), size)
        broken += _over(strip, memory.capacity, "memory", memory.name)
    for group in problem.groups:
        broken += _group(problem, schedule, group.name, group.registers)
    return tuple(broken)


def _shape(problem: ModuloProblem, schedule: ModuloSchedule) -> list[Violation]:
    broken = []
    last = problem.max_stages * schedule.interval
    for op in problem.ops:
        start = schedule.starts[op.id]
        if not 0 <= start < last:
            broken.append(Violation("schedule", "stages", f"{op.id} issues in cycle {start}, outside [0, {last})"))
        if not problem.groups:
            continue
        named = [group for group in problem.groups if group.name == schedule.groups.get(op.id)]
        if len(named) != 1:
            broken.append(Violation("placement", "one-group", f"{op.id} is on no group"))
        elif (
            named[0].warps < op.warps
            or named[0].variable_latency != op.variable_latency
            or (op.groups and named[0].name not in op.groups)
        ):
            broken.append(Violation("placement", "one-group", f"{op.id} may not run on {named[0].name}"))
    return broken


def _edges(problem: ModuloProblem, schedule: ModuloSchedule) -> list[Violation]:
    broken = []
    for edge in problem.edges:
        ready = schedule.starts[edge.source] + edge.latency
        across = schedule.groups.get(edge.source) != schedule.groups.get(edge.target)
        if edge.value and across:
            ready += problem.op(edge.source).spill_cycles
        issue = schedule.starts[edge.target] + edge.distance * schedule.interval
        if issue < ready:
            message = f"{edge.target} issues in cycle {issue}, {edge.source} is ready in {ready}"
            broken.append(Violation("dependence", "latency", message))
    return broken


def _life(problem: ModuloProblem, schedule: ModuloSchedule, identifier: str, cycles: int) -> tuple[int, int]:
    born = schedule.starts[identifier]
    dies = born + max(cycles, 1)
    for edge in problem.edges:
        if edge.value and edge.source == identifier:
            released = schedule.starts[edge.target] + edge.distance * schedule.interval + edge.hold
            dies = max(dies, released)
    return born, dies


def _group(problem: ModuloProblem, schedule: ModuloSchedule, group: str, limit: int) -> list[Violation]:
    registers, busy = _Strip(schedule.interval), {}
    mine = [op for op in problem.ops if schedule.groups[op.id] == group]
    for op in mine:
        registers.add(*_life(problem, schedule, op.id, op.cycles), op.registers)
        strip = _Strip(schedule.interval)
        strip.add(schedule.starts[op.id], schedule.starts[op.id] + op.cycles, 1)
        busy[op.id] = strip.cells()
    broken = _over(registers, limit, "registers", group)
    for op in mine:
        if not _blocks(problem, schedule, op.id):
            continue
        cell = schedule.starts[op.id] % schedule.interval
        inside = [other for other, cells in busy.items() if other != op.id and cells[cell]]
        broken += [Violation("waits", "wait-inside", f"{op.id} blocks {group} inside {other}") for other in inside]
    return broken


def _blocks(problem: ModuloProblem, schedule: ModuloSchedule, identifier: str) -> bool:
    for edge in problem.edges:
        if edge.target != identifier or not edge.value:
            continue
        across = schedule.groups[edge.source] != schedule.groups[edge.target]
        if edge.wait is ModuloWait.ALWAYS or (edge.wait is ModuloWait.ACROSS and across):
            return True
    return False


def _over(strip: _Strip, limit: int, family: str, name: str) -> list[Violation]:
    cells = strip.cells()
    top = max(cells)
    if top <= limit:
        return []
    return [Violation(family, "capacity", f"{name}: {top} of {limit} in cycle {cells.index(top)} of the interval")]
