"""Variables of a modulo problem in the engine-neutral model: issue cycles, their stage and phase, groups, and orders.

Every point in time ``t`` that a constraint asks about is split once into ``t = stage * interval + phase``. How many
copies of a span ``[s, e)`` cover a point ``x`` in the steady state is then linear in stages and order literals::

    copies = stage(e) - stage(s) + [phase(x) < phase(e)] - [phase(x) < phase(s)]

so no variable belongs to a single cycle, and the size of the model does not depend on the costs (Twill's booleans do,
which is why it has to shrink costs first; literature: section 4.2 there).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from solver.model import Expr, Literal, Model, Var, linear
from solver.modulo.problem import Edge, ModuloProblem, ModuloSchedule, Op

__all__ = ["Encoding", "Point", "weighted"]

DEFINITIONS = "domain"
"""Family of what a variable means; engines never drop it when they minimise a core."""


def weighted(parts: Iterable[tuple[int, Expr]]) -> Expr:
    """The weighted sum of many expressions, merged once instead of at every addition."""
    terms: list[tuple[int, Var]] = []
    constant = 0
    for factor, expr in parts:
        terms += [(factor * coefficient, variable) for coefficient, variable in expr.terms]
        constant += factor * expr.constant
    return linear(*terms, constant=constant)


@dataclass(frozen=True, slots=True)
class Point:
    """A moment of iteration 0: ``time = stage * interval + phase``. Shifting by whole intervals changes the stage only."""

    name: str
    time: Expr
    stage: Expr
    phase: Var

    def shifted(self, intervals: int, interval: Var) -> "Point":
        """The same moment of a later iteration."""
        if not intervals:
            return self
        return Point(self.name, self.time + intervals * interval, self.stage + intervals, self.phase)


@dataclass(slots=True)
class Encoding:
    """The model of one problem for intervals from ``low`` to ``high``; equal bounds give the smaller, fixed form."""

    problem: ModuloProblem
    low: int
    high: int
    model: Model = field(default_factory=Model)
    interval: Var = field(init=False)
    starts: dict[str, Point] = field(default_factory=dict)
    on: dict[tuple[str, str], Literal] = field(default_factory=dict)
    _points: dict[str, Point] = field(default_factory=dict)
    _orders: dict[tuple[int, int], Literal] = field(default_factory=dict)
    _together: dict[tuple[str, str], Literal | bool] = field(default_factory=dict)
    _ends: dict[str, Point] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.interval = self.model.integer("interval", self.low, self.high)
        for op in self.problem.ops:
            self.starts[op.id] = self._split(f"start:{op.id}", None, self.problem.max_stages)
        for op in self.problem.ops:
            for group in self.problem.candidates(op):
                self.on[op.id, group.name] = self.model.boolean(f"on:{op.id}:{group.name}")

    def after(self, op: Op, cycles: int) -> Point:
        """The moment ``cycles`` after an operation's issue."""
        if not cycles:
            return self.starts[op.id]
        name = f"start:{op.id}+{cycles}"
        if name not in self._points:
            stages = self.problem.max_stages + 1 + cycles // self.low
            with self.model.family(DEFINITIONS):
                self._points[name] = self._split(name, self.starts[op.id].time + cycles, stages)
        return self._points[name]

    def end(self, op: Op) -> Point:
        """The moment a result dies; at least every consumer's release, so never too early."""
        if op.id not in self._ends:
            with self.model.family(DEFINITIONS):
                self._ends[op.id] = self._end(op)
        return self._ends[op.id]

    def before(self, left: Point, right: Point) -> Literal | bool:
        """Whether the left phase is strictly smaller; a truth value when both are one variable."""
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

    def copies(self, point: Point, start: Point, end: Point) -> Expr:
        """How many copies of the span from start to end cover the point in the steady state."""
        terms = [*end.stage.terms, *((-factor, variable) for factor, variable in start.stage.terms)]
        constant = end.stage.constant - start.stage.constant
        for sign, other in ((1, end), (-1, start)):
            order = self.before(point, other)
            if isinstance(order, Literal):
                terms.append((sign, order.var))
            elif order:
                constant += sign
        return linear(*terms, constant=constant)

    def most_copies(self, op: Op) -> int:
        """An upper bound of how many results of one operation can live at once."""
        distance = max((edge.distance for edge in self.problem.users(op)), default=0)
        hold = max((edge.hold for edge in self.problem.users(op)), default=0)
        longest = max(op.cycles, hold)
        return self.problem.max_stages + distance + longest // self.low + 1

    def together(self, left: Op, right: Op) -> Literal | bool:
        """Whether two operations run on the same group; a truth value where the candidates decide it."""
        key = (left.id, right.id) if left.id < right.id else (right.id, left.id)
        if key not in self._together:
            with self.model.family(DEFINITIONS):
                self._together[key] = self._decide_together(*key)
        return self._together[key]

    def crosses(self, edge: Edge) -> Literal | bool:
        """Whether an edge leads to another group."""
        if not self.problem.groups or edge.source == edge.target:
            return False
        same = self.together(self.problem.op(edge.source), self.problem.op(edge.target))
        return same.negated() if isinstance(same, Literal) else not same

    def schedule(self, values: Sequence[int]) -> ModuloSchedule:
        """The schedule that an engine's assignment stands for."""
        starts = {}
        for op in self.problem.ops:
            time = self.starts[op.id].time
            starts[op.id] = time.constant + sum(c * values[v.index] for c, v in time.terms)
        groups = {op: group for (op, group), literal in self.on.items() if values[literal.var.index]}
        return ModuloSchedule(values[self.interval.index], starts, groups)

    def _split(self, name: str, time: Expr | None, stages: int) -> Point:
        """A point with its own phase, and its own time variable when none is given."""
        latest = stages * self.high - 1
        stage = self.model.integer(f"stage:{name}", 0, stages - 1)
        phase = self.model.integer(f"phase:{name}", 0, self.high - 1)
        if self.low == self.high:
            made = linear((self.low, stage), (1, phase))
            if time is not None:
                self.model.equal(time - made, 0, note=f"{name} is stage and phase")
            return Point(name, made if time is None else time, linear((1, stage)), phase)
        moment = time if time is not None else linear((1, self.model.integer(f"time:{name}", 0, latest)))
        self.model.at_least(self.interval - phase, 1, note=f"{name} has a phase below the interval")
        literals = [self.model.boolean(f"stage:{name}={value}") for value in range(stages)]
        self.model.exactly_one(literals, note=f"{name} has one stage")
        self.model.equal(linear((-1, stage), *((k, x.var) for k, x in enumerate(literals))), 0)
        for value, literal in enumerate(literals):
            parts = moment - phase - value * self.interval
            self.model.equal(parts, 0, when=[literal], note=f"{name} in stage {value}")
        return Point(name, moment, linear((1, stage)), phase)

    def _end(self, op: Op) -> Point:
        users = list(self.problem.users(op))
        shortest = max(op.cycles, 1)
        if not users:
            return self.after(op, shortest)
        targets = {(edge.target, edge.distance, edge.hold) for edge in users}
        covered = all(edge.distance == 0 and edge.latency + edge.hold >= shortest for edge in users)
        if len(targets) == 1 and covered:
            ((target, distance, hold),) = targets
            return self.after(self.problem.op(target), hold).shifted(distance, self.interval)
        point = self._split(f"end:{op.id}", None, self.most_copies(op))
        self.model.at_least(point.time - self.starts[op.id].time, shortest, note=f"{op.id} lives while it is written")
        for edge in users:
            gap = point.time - self.starts[edge.target].time - edge.distance * self.interval
            self.model.at_least(gap, edge.hold, note=f"{op.id} lives until {edge.target} lets it go")
        return point

    def _decide_together(self, left: str, right: str) -> Literal | bool:
        mine = {group.name for group in self.problem.candidates(self.problem.op(left))}
        theirs = {group.name for group in self.problem.candidates(self.problem.op(right))}
        shared = sorted(mine & theirs)
        if not shared:
            return False
        if mine == theirs and len(shared) == 1:
            return True
        literal = self.model.boolean(f"together:{left}:{right}")
        for group in shared:
            a, b = self.on[left, group], self.on[right, group]
            self.model.any_of([literal], when=[a, b])
            self.model.any_of([b], when=[literal, a])
            self.model.any_of([a], when=[literal, b])
        for group in sorted(mine - theirs):
            self.model.any_of([literal.negated()], when=[self.on[left, group]])
        for group in sorted(theirs - mine):
            self.model.any_of([literal.negated()], when=[self.on[right, group]])
        return literal
