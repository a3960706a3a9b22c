"""Which dependences between pipes need a flag of their own, given the order in which a schedule issues its tasks.

A pipe issues in order, so a wait for a later task of it implies the earlier ones. As in TileLang's own analysis (TileLang 0.1.15
wheel, ``insert_sync.cc:1270-1610``): from inner loops outwards, tighter dependences first, each one that is not implied by
those before it becomes a synchronisation point. Dependences over global memory are left out: which parts of a tensor meet is not
known here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import inf

from warpwright.solver.domain import ROOT, BufferSchedule, KernelGraph, LoopSchedule, Memory, Op, Scope, Unit

__all__ = ["HandOver", "hand_overs"]

PIPES: dict[Unit, str] = {
    Unit.MTE1: "MTE1",
    Unit.MTE2: "MTE2",
    Unit.MTE3: "MTE3",
    Unit.CUBE: "M",
    Unit.VECTOR: "V",
    Unit.FIXPIPE: "FIX",
    Unit.SCALAR: "S",
}
VECTOR_PIPES = frozenset({"MTE3", "V"})
RENAMED = {
    ("MTE2", "M"): ("MTE2", "MTE1"),
    ("M", "MTE2"): ("MTE1", "MTE2"),
    ("MTE3", "M"): ("MTE3", "MTE1"),
    ("M", "MTE3"): ("MTE1", "MTE3"),
}
"""Pairs whose flags are those of another pair: a product reads its operands by MTE1 (``insert_sync.cc:751-764``)."""


@dataclass(frozen=True, slots=True)
class HandOver:
    """One synchronisation point of a pair of pipes of one core, with the ids that it takes."""

    source: str
    target: str
    ids: int
    carried: bool
    """Whether it goes from one iteration to a later one."""
    scope: str
    """The scope whose analysis found it."""
    after: frozenset[int] = frozenset()
    """Numbers of points of the same scope whose lifetime cannot meet its own."""
    number: int = 0

    def may_share(self, other: "HandOver") -> bool:
        """Whether both may have the same ids. Of other scopes this is not known here, so they may."""
        if self.scope != other.scope:
            return True
        return not self.carried and not other.carried and other.number in self.after


@dataclass(slots=True)
class _Point:
    source: int
    target: int
    distance: int
    ids: int
    innermost: bool


@dataclass(slots=True)
class _Order:
    """Fewest iterations between tasks such that the first surely happens before the second."""

    paths: dict[tuple[int, int], float] = field(default_factory=dict)

    def at(self, source: int, target: int) -> float:
        return 0 if source == target else self.paths.get((source, target), inf)

    def add(self, tasks: Sequence[int], source: int, target: int, distance: float) -> None:
        """An edge with everything that follows from it."""
        if distance >= self.at(source, target):
            return
        for u, v in product(tasks, tasks):
            through = self.at(u, source) + distance + self.at(target, v)
            if u != v and through < self.at(u, v):
                self.paths[u, v] = through


def hand_overs(graph: KernelGraph, schedule: BufferSchedule) -> list[HandOver] | None:
    """Synchronisation points between pipes of one core; None if a task has no single pipe, or a scope no schedule."""
    pipes: dict[str, tuple[str, str]] = {}
    for op in graph.ops:
        place = _pipe(graph, op)
        if place is None:
            return None
        pipes[op.id] = place
    loops = {loop.scope: loop for loop in schedule.loops}
    scopes = {scope.id: scope for scope in graph.scopes}
    if any(len(scope.items) > 1 and scope.id not in loops for scope in graph.scopes):
        return None
    analysis = _Analysis(graph, scopes, loops, pipes, {each.buffer: each.versions for each in schedule.buffers})
    analysis.scope(scopes[ROOT])
    return analysis.found


class _Analysis:
    """One walk from the innermost loops outwards. Tasks are numbered in the order in which they are issued."""

    def __init__(
        self,
        graph: KernelGraph,
        scopes: Mapping[str, Scope],
        loops: Mapping[str, LoopSchedule],
        pipes: Mapping[str, tuple[str, str]],
        counts: Mapping[str, int],
    ) -> None:
        self._graph, self._scopes, self._loops, self._counts = graph, scopes, loops, counts
        self._ops = {op.id: op for op in graph.ops}
        self._on_chip = {b.name: b for b in graph.buffers if b.memory is not Memory.GLOBAL}
        self._order = self._issued(scopes[ROOT])
        self._number = {name: number for number, name in enumerate(self._order)}
        self._pipes = [pipes[name] for name in self._order]
        self.found: list[HandOver] = []

    def scope(self, scope: Scope) -> _Order:
        """Analyse a scope after its children; the order inside one iteration."""
        items = self._sorted(scope)
        members = [[self._number[name] for name in self._leaves(item)] for item in items]
        order = _Order()
        for item in items:
            if item in self._scopes:
                inner = self.scope(self._scopes[item])
                order.paths.update({pair: 0 for pair, distance in inner.paths.items() if distance == 0})
        tasks = [task for part in members for task in part]
        stages = {task: self._stage(scope, item) for item, part in zip(items, members, strict=True) for task in part}
        for u, v in product(tasks, tasks):
            if u != v and self._pipes[u] == self._pipes[v]:
                order.add(tasks, u, v, max(0, stages[u] - stages[v] + (0 if u < v else 1)))
        points = []
        for point in sorted(self._points(scope, members), key=lambda p: (p.distance, -p.source, p.target, p.ids)):
            if order.at(point.source, point.target) <= point.distance and point.source != point.target:
                continue
            order.add(tasks, point.source, point.target, point.distance)
            points.append(point)
        self._keep(scope, points, order)
        return order

    def _keep(self, scope: Scope, points: Sequence[_Point], order: _Order) -> None:
        flags = [
            point
            for point in points
            if self._pipes[point.source] != self._pipes[point.target]
            and self._pipes[point.source][0] == self._pipes[point.target][0]
        ]
        for number, point in enumerate(flags):
            after = frozenset(
                other
                for other, second in enumerate(flags)
                if other != number and (_follows(order, point, second) != _follows(order, second, point))
            )
            first, last = self._pipes[point.source][1], self._pipes[point.target][1]
            source, target = RENAMED.get((first, last), (first, last))
            ids = self._ids(scope, point, order)
            self.found.append(HandOver(source, target, ids, point.distance > 0, scope.id, after, number))

    def _ids(self, scope: Scope, point: _Point, order: _Order) -> int:
        """A point inside one iteration needs as many ids as iterations that can be between its use and its reuse."""
        back = order.at(point.target, point.source)
        long = scope.id != ROOT and (scope.trips is None or scope.trips > (point.ids if point.innermost else 1))
        if point.distance == 0 and point.innermost and long and 0 < back <= point.ids:
            return int(back)
        return point.ids

    def _points(self, scope: Scope, members: Sequence[Sequence[int]]) -> list[_Point]:
        """Every dependence of the scope: between its items in order, and from one iteration to a later one."""
        found = []
        loop = scope.id != ROOT
        place = {task: number for number, part in enumerate(members) for task in part}
        for name, buffer in self._on_chip.items():
            users = [task for task in place if name in self._touched(task)]
            versions = self._counts.get(name, 1)
            owned = any(self._inside(scope.id, owner) for owner in buffer.owners)
            own = scope.id in buffer.owners
            if any(owner != scope.id and self._inside(owner, scope.id) for owner in buffer.owners):
                continue  # a ring goes on from one run of its owner to the next: the owner's own points hold
            ids = versions if owned else 1
            for u, v in product(users, users):
                if not (name in self._written(u) or name in self._written(v)):
                    continue
                if place[u] < place[v]:
                    found.append(_Point(u, v, 0, ids, own or not owned))
                elif loop:
                    found.append(_Point(u, v, versions if own else 1, ids, own or not owned))
        return found

    def _touched(self, task: int) -> set[str]:
        op = self._ops[self._order[task]]
        return {access.buffer for access in (*op.reads, *op.writes)}

    def _written(self, task: int) -> set[str]:
        return {access.buffer for access in self._ops[self._order[task]].writes}

    def _inside(self, scope: str, outer: str) -> bool:
        while scope != outer:
            parent = self._scopes[scope].parent
            if parent is None:
                return False
            scope = parent
        return True

    def _leaves(self, item: str) -> list[str]:
        return [item] if item in self._ops else self._issued(self._scopes[item])

    def _issued(self, scope: Scope) -> list[str]:
        return [name for item in self._sorted(scope) for name in self._leaves(item)]

    def _sorted(self, scope: Scope) -> list[str]:
        """Items in the order of the emitted body: by phase, later stages first; without offset there is one stage, so by start
        (``auto_schedule.cc:1137-1159``).
        """
        loop = self._loops.get(scope.id)
        if loop is None:
            return list(scope.items)
        times = {time.task: time for time in loop.tasks}
        interval = loop.initiation_interval_cycles or 0

        def place(item: str) -> tuple[int, int]:
            stage = times[item].stage if scope.enable_offset else 0
            return times[item].start_cycle - stage * interval, -stage

        return sorted(scope.items, key=place)

    def _stage(self, scope: Scope, item: str) -> int:
        """The stage that is emitted: without offset, none."""
        loop = self._loops.get(scope.id)
        if loop is None or not scope.enable_offset:
            return 0
        return next(time.stage for time in loop.tasks if time.task == item)


def _follows(order: _Order, first: _Point, second: _Point) -> bool:
    """Whether the second point begins only when the first one is over, in this iteration and before its next one."""
    return order.at(first.target, second.source) == 0 and order.at(second.target, first.source) <= 1


def _pipe(graph: KernelGraph, op: Op) -> tuple[str, str] | None:
    """Core and pipe of a task; None if it has not exactly one."""
    found = [PIPES[use.unit] for use in op.uses if use.unit in PIPES]
    if len(found) != 1:
        return None
    if found[0] == "MTE2":
        memories = {graph.buffer(access.buffer).memory for access in op.writes}
        return ("vector" if Memory.UB in memories else "cube"), "MTE2"
    return ("vector" if found[0] in VECTOR_PIPES else "cube"), found[0]
