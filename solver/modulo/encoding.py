"""Variables of a modulo problem in the engine-neutral model: stages, phases, groups, and orders of phases.

Every cycle ``t`` in a constraint is ``t = stage * interval + phase`` with a small stage and a phase below
the interval. Dependences split into orders of phases and differences of stages, and how many copies of a span ``[s, e)``
cover a point ``x`` in the steady state is linear in both::

    copies = stage(e) - stage(s) + [phase(x) < phase(e)] - [phase(x) < phase(s)]

So no variable belongs to a single cycle, no product of stage and interval is left, and the model is as small for raw
cycles as for shrunk ones (Twill, arXiv 2512.18134, section 4: one boolean per cycle, so costs must be shrunk first).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from warpwright.solver.engines.model import Expr, Literal, Model, Var, linear
from warpwright.solver.modulo.problem import ModuloEdge, ModuloOp, ModuloProblem, ModuloSchedule

__all__ = ["DEFINITIONS", "ModuloEncoding", "Point", "pivot", "weighted"]

DEFINITIONS = "domain"
"""Family of the definitions of variables; engines never drop it when they minimise a core."""


@dataclass(frozen=True, slots=True)
class Point:
    """A point in time of iteration 0. Shifting it by whole intervals changes only the stage."""

    stage: Expr
    phase: Var

    def shifted(self, intervals: int) -> "Point":
        """The same point of a later iteration."""
        return Point(self.stage + intervals, self.phase) if intervals else self


@dataclass(slots=True)
class ModuloEncoding:
    """The model of one problem for intervals from ``low`` to ``high``; with equal bounds the interval is a constant."""

    problem: ModuloProblem
    low: int
    high: int
    model: Model = field(default_factory=Model)
    interval: Var = field(init=False)
    starts: dict[str, Point] = field(default_factory=dict)
    on: dict[tuple[str, str], Literal] = field(default_factory=dict)
    _points: dict[tuple[str, int], Point] = field(default_factory=dict)
    _orders: dict[tuple[int, int], Literal] = field(default_factory=dict)
    _together: dict[tuple[str, str], Literal | bool] = field(default_factory=dict)
    _ends: dict[str, Point] = field(default_factory=dict)
    _exact: set[Literal] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.interval = self.model.integer("interval", self.low, self.high)
        for op in self.problem.ops:
            self.starts[op.id] = self._point(f"start:{op.id}", self.problem.max_stages + 1)
        self._anchor()
        for op in self.problem.ops:
            for group in self.problem.candidates(op):
                self.on[op.id, group.name] = self.model.boolean(f"on:{op.id}:{group.name}")

    def after(self, op: ModuloOp, cycles: int) -> Point:
        """The point ``cycles`` after an operation's issue."""
        if not cycles:
            return self.starts[op.id]
        key = (op.id, cycles)
        if key not in self._points:
            with self.model.family(DEFINITIONS):
                self._points[key] = self._later(self.starts[op.id], f"start:{op.id}+{cycles}", cycles)
        return self._points[key]

    def end(self, op: ModuloOp) -> Point:
        """The point at which a result dies; not before any consumer's release."""
        if op.id not in self._ends:
            with self.model.family(DEFINITIONS):
                self._ends[op.id] = self._end(op)
        return self._ends[op.id]

    def follows(self, left: Point, right: Point, gap: int, *, when: Iterable[Literal] = (), note: str = "") -> None:
        """``right`` is at least ``gap`` cycles after ``left``.

        With ``n`` stages between them the phases must satisfy ``phase(right) - phase(left) + n * interval >= gap``. One
        literal for each ``n`` that may fail says that it holds; every one that does not hold requires one more stage.
        """
        stages = right.stage - left.stage
        if left.phase.index == right.phase.index:
            if gap > 0:
                self.model.at_least(stages.constant * self.interval, gap, when=when, note=note)
            return
        ahead = linear((1, right.phase), (-1, left.phase))
        holds: list[Literal] = []
        for count in range(-(-gap // self.low) + 1):
            literal = self.model.boolean(f"reach:{len(self.model.variables)}")
            with self.model.family(DEFINITIONS):
                self.model.at_least(ahead + count * self.interval, gap, when=[literal])
                if holds:
                    self.model.any_of([literal], when=[holds[-1]])
            holds.append(literal)
        missing = linear(*((-1, literal.var) for literal in holds), constant=len(holds))
        self.model.at_least(stages - missing, 0, when=when, note=note)

    def before(self, left: Point, right: Point) -> Literal | bool:
        """Whether the left phase is strictly smaller; a constant if both are one variable."""
        if left.phase.index == right.phase.index:
            return False
        key = (left.phase.index, right.phase.index)
        if key not in self._orders:
            literal = self.model.boolean(f"before:{left.phase.index}:{right.phase.index}")
            gap = linear((1, right.phase), (-1, left.phase))
            with self.model.family(DEFINITIONS):
                self.model.at_least(gap, 1, when=[literal])
                self.model.at_most(gap, 0, when=[literal.negated()])
            self._orders[key] = literal
        return self._orders[key]

    def order(self, left: Point, right: Point) -> Literal | bool:
        """As :meth:`before` with ties to the point made later, so that both directions share one literal."""
        if left.phase.index <= right.phase.index:
            return self.before(left, right)
        reverse = self.before(right, left)
        return reverse.negated() if isinstance(reverse, Literal) else not reverse

    def copies(self, point: Point, start: Point, end: Point) -> Expr:
        """How many copies of the span from start to end cover the point in the steady state.

        Of spans that start in one phase, the first point counts them all, the others may miss some: a limit that is
        checked at every start is also checked at the fullest one.
        """
        terms = [*end.stage.terms, *((-factor, variable) for factor, variable in start.stage.terms)]
        constant = end.stage.constant - start.stage.constant
        for sign, order in ((1, self.before(point, end)), (-1, self.order(point, start))):
            if isinstance(order, Literal):
                terms.append((sign if order.positive else -sign, order.var))
                constant += 0 if order.positive else sign
            elif order:
                constant += sign
        return linear(*terms, constant=constant)

    def most_copies(self, op: ModuloOp) -> int:
        """An upper bound of how many results of one operation can live at once."""
        distance = max((edge.distance for edge in self.problem.users(op)), default=0)
        hold = max((edge.hold for edge in self.problem.users(op)), default=0)
        return self.problem.max_stages + distance + max(op.cycles, hold) // self.low + 2

    def together(self, left: ModuloOp, right: ModuloOp) -> Literal | bool:
        """Whether two operations run on the same group; a constant if the candidates decide it.

        The literal holds if they do. It may hold although they do not, which only adds constraints, unless :meth:`crosses`
        was used for the same pair.
        """
        key = (left.id, right.id) if left.id < right.id else (right.id, left.id)
        if key not in self._together:
            with self.model.family(DEFINITIONS):
                self._together[key] = self._decide_together(*key)
        return self._together[key]

    def crosses(self, edge: ModuloEdge) -> Literal | bool:
        """Whether an edge leads to another group."""
        if not self.problem.groups or edge.source == edge.target:
            return False
        same = self.together(self.problem.op(edge.source), self.problem.op(edge.target))
        if not isinstance(same, Literal):
            return not same
        if same not in self._exact:
            self._exact.add(same)
            with self.model.family(DEFINITIONS):
                self._only_together(edge.source, edge.target, same)
        return same.negated()

    def time(self, op: ModuloOp) -> Expr:
        """An operation's issue as one expression; only if the interval is a constant."""
        return weighted([(self.low, self.starts[op.id].stage), (1, linear((1, self.starts[op.id].phase)))])

    def schedule(self, values: Sequence[int]) -> ModuloSchedule:
        """The schedule that an engine's assignment stands for, its first issue in cycle 0."""
        interval = values[self.interval.index]
        starts = {
            op: interval * (point.stage.constant + sum(c * values[v.index] for c, v in point.stage.terms))
            + values[point.phase.index]
            for op, point in self.starts.items()
        }
        first = min(starts.values())
        groups = {op: group for (op, group), literal in self.on.items() if values[literal.var.index]}
        return ModuloSchedule(interval, {op: start - first for op, start in starts.items()}, groups)

    def _anchor(self) -> None:
        """Removes rotations: the pivot has phase 0, and all issues are within ``max_stages`` intervals.

        Every schedule can be shifted by whole cycles, so nothing is lost. The ``seam`` is the phase of the first issue:
        issues of stage 0 come after it, issues of the one extra stage before it.
        """
        stages = self.problem.max_stages
        seam = self.model.integer("seam", 0, self.high)
        self.model.equal(self.starts[pivot(self.problem).id].phase, 0, note="the pivot has phase 0")
        for op in self.problem.ops:
            point = self.starts[op.id]
            early, late = self.model.boolean(f"early:{op.id}"), self.model.boolean(f"late:{op.id}")
            self.model.at_least(point.stage, 1, when=[early.negated()])
            self.model.at_most(point.stage, stages - 1, when=[late.negated()])
            self.model.at_least(point.phase - seam, 0, when=[early], note=f"{op.id} is not before the first issue")
            self.model.at_most(point.phase - seam, -1, when=[late], note=f"{op.id} is within {stages} stages")

    def _point(self, name: str, stages: int) -> Point:
        stage = self.model.integer(f"stage:{name}", 0, stages - 1)
        return Point(linear((1, stage)), self._phase(name))

    def _phase(self, name: str) -> Var:
        phase = self.model.integer(f"phase:{name}", 0, self.high - 1)
        if self.low != self.high:
            self.model.at_least(self.interval - phase, 1, note=f"{name} has a phase below the interval")
        return phase

    def _later(self, point: Point, name: str, cycles: int) -> Point:
        """A fixed distance after a point: the phase wraps around the interval a number of times."""
        phase = self._phase(name)
        wraps = self.model.integer(f"wraps:{name}", 0, 1 + (cycles - 1) // self.low)
        moved = linear((1, phase), (-1, point.phase))
        if self.low == self.high:
            self.model.equal(moved + self.low * wraps, cycles)
        else:
            literals = [self.model.boolean(f"wraps:{name}={count}") for count in range(wraps.hi + 1)]
            self.model.exactly_one(literals)
            self.model.equal(linear((-1, wraps), *((n, x.var) for n, x in enumerate(literals))), 0)
            for count, literal in enumerate(literals):
                self.model.equal(moved + count * self.interval, cycles, when=[literal])
        return Point(point.stage + wraps, phase)

    def _end(self, op: ModuloOp) -> Point:
        users = list(self.problem.users(op))
        shortest = max(op.cycles, 1)
        if not users:
            return self.after(op, shortest)
        targets = {(edge.target, edge.distance, edge.hold) for edge in users}
        covered = all(edge.distance == 0 and edge.latency + edge.hold >= shortest for edge in users)
        if len(targets) == 1 and covered:
            ((target, distance, hold),) = targets
            return self.after(self.problem.op(target), hold).shifted(distance)
        point = self._point(f"end:{op.id}", self.most_copies(op) + 1)
        self.follows(self.starts[op.id], point, shortest, note=f"{op.id} lives while it is written")
        for target, distance, hold in sorted(targets):
            released = self.starts[target].shifted(distance)
            self.follows(released, point, hold, note=f"{op.id} lives until {target} lets it go")
        return point

    def _decide_together(self, left: str, right: str) -> Literal | bool:
        mine, theirs = self._places(left), self._places(right)
        shared = sorted(mine & theirs)
        if not shared:
            return False
        if mine == theirs and len(shared) == 1:
            return True
        literal = self.model.boolean(f"together:{left}:{right}")
        for group in shared:
            self.model.any_of([literal], when=[self.on[left, group], self.on[right, group]])
        return literal

    def _only_together(self, left: str, right: str, literal: Literal) -> None:
        """The other direction: the literal holds only when both are on one group."""
        for here, there in ((left, right), (right, left)):
            for group in sorted(self._places(here)):
                if group in self._places(there):
                    self.model.any_of([self.on[there, group]], when=[literal, self.on[here, group]])
                else:
                    self.model.any_of([literal.negated()], when=[self.on[here, group]])

    def _places(self, identifier: str) -> set[str]:
        return {group.name for group in self.problem.candidates(self.problem.op(identifier))}


def weighted(parts: Iterable[tuple[int, Expr]]) -> Expr:
    """The weighted sum of many expressions, merged once instead of at every addition."""
    terms: list[tuple[int, Var]] = []
    constant = 0
    for factor, expr in parts:
        terms += [(factor * coefficient, variable) for coefficient, variable in expr.terms]
        constant += factor * expr.constant
    return linear(*terms, constant=constant)


def pivot(problem: ModuloProblem) -> ModuloOp:
    """The operation whose phase is fixed to 0: the longest of the busiest unit, so that this unit's order is a line."""
    busy: dict[str, int] = {}
    for op in problem.ops:
        for use in op.uses:
            busy[use.unit] = busy.get(use.unit, 0) + use.cycles * use.amount
    share = {unit.name: busy.get(unit.name, 0) / unit.capacity for unit in problem.units}
    best, longest = problem.ops[0], (-1.0, -1)
    for op in problem.ops:
        for use in op.uses:
            weight = (share[use.unit], use.cycles)
            if use.offset == 0 and weight > longest:
                best, longest = op, weight
    return best
