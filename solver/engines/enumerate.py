"""Exhaustive engine: depth-first over every value with bounds propagation. For tests and tiny models.

It shares no code with the other engines' libraries; that is its value: three ways to the same answer. One work unit is
``NODES_PER_UNIT`` nodes of the tree.
"""

import time
from collections.abc import Iterator, Sequence

from warpwright.solver.engines.core import families_of, minimise_core, restricted
from warpwright.solver.engines.model import Constraint, Expr, Literal, Model
from warpwright.solver.engines.port import Budget, EngineResult, EngineStatus, OnSolution, evaluate, out_of_range

__all__ = ["EnumerationEngine", "assignments"]

NODES_PER_UNIT = 20

Domain = tuple[int, int]


class BudgetEndedError(Exception):
    """The node or time budget of an enumeration is used up."""


class _Tree:
    """The search tree of one model: domains as intervals, narrowed by every constraint until nothing changes."""

    def __init__(self, model: Model, nodes: int, ends_at: float) -> None:
        self.model = model
        self.nodes_left = nodes
        self.ends_at = ends_at
        self.nodes = 0
        self.watch: list[list[Constraint]] = [[] for _ in model.variables]
        for constraint in model.constraints:
            for index in _variables_of(constraint):
                self.watch[index].append(constraint)
        self.incumbent: tuple[int, ...] | None = None

    def solutions(self) -> Iterator[tuple[int, ...]]:
        """Every satisfying assignment that is better than ``incumbent`` in the objectives, if one is set."""
        start = [(v.lo, v.hi) for v in self.model.variables]
        if self._propagate(start, list(self.model.constraints)):
            yield from self._below(start, 0)

    def _below(self, domains: list[Domain], position: int) -> Iterator[tuple[int, ...]]:
        self.nodes += 1
        if self.nodes > self.nodes_left or (self.nodes % 256 == 0 and time.monotonic() > self.ends_at):
            raise BudgetEndedError
        if self.incumbent is not None and not self._can_improve(domains, self.incumbent):
            return
        while position < len(domains) and domains[position][0] == domains[position][1]:
            position += 1
        if position == len(domains):
            yield tuple(low for low, _ in domains)
            return
        low, high = domains[position]
        for value in range(low, high + 1):
            narrowed = list(domains)
            narrowed[position] = (value, value)
            if self._propagate(narrowed, self.watch[position]):
                yield from self._below(narrowed, position + 1)

    def _can_improve(self, domains: list[Domain], best: tuple[int, ...]) -> bool:
        for level in self.model.objectives:
            low, reached = _range(level, domains)[0], evaluate(level, best)
            if low != reached:
                return low < reached
        return False

    def _propagate(self, domains: list[Domain], agenda: Sequence[Constraint]) -> bool:
        waiting = list(agenda)
        while waiting:
            constraint = waiting.pop()
            changed: set[int] = set()
            if not _narrow(constraint, domains, changed):
                return False
            for index in sorted(changed):
                waiting += self.watch[index]
        return True


class EnumerationEngine:
    """Exhaustive search behind the engine port."""

    name = "enumerate"
    version = "enumerate 1"

    def solve(
        self,
        model: Model,
        budget: Budget,
        hint: Sequence[int | None] | None = None,
        *,
        on_solution: OnSolution | None = None,
    ) -> EngineResult:
        """See :class:`warpwright.solver.engines.port.Engine`. A hint is not used."""
        reason = out_of_range(model)
        if reason:
            return EngineResult(EngineStatus.UNKNOWN, None, (), (), (), 0, f"model out of range: {reason}")
        ends_at = time.monotonic() + budget.wall_seconds
        tree = _Tree(model, budget.work_limit * NODES_PER_UNIT, ends_at)
        ended = False
        try:
            for values in tree.solutions():
                tree.incumbent = values
                if on_solution:
                    on_solution(values)
                if not model.objectives:
                    break
        except BudgetEndedError:
            ended = True
        best, work = tree.incumbent, 1 + tree.nodes // NODES_PER_UNIT
        if ended:
            status = EngineStatus.UNKNOWN if best is None else EngineStatus.FEASIBLE
            reached = () if best is None else tuple(evaluate(level, best) for level in model.objectives)
            start = [(v.lo, v.hi) for v in model.variables]
            lows = tuple(_range(level, start)[0] for level in model.objectives[:1]) if best is not None else ()
            return EngineResult(
                status, best, reached, lows, (), work, "the budget ended before the search tree was exhausted"
            )
        if best is None:
            core = minimise_core(families_of(model), lambda kept: _proves(restricted(model, kept), budget, ends_at))
            reason = "no assignment satisfies " + (" with ".join(core) or "the variables' own bounds")
            return EngineResult(EngineStatus.INFEASIBLE, None, (), (), core, work, reason)
        reached = tuple(evaluate(level, best) for level in model.objectives)
        return EngineResult(EngineStatus.OPTIMAL, best, reached, reached, (), work, "")


def assignments(model: Model, nodes: int = 2_000_000) -> Iterator[tuple[int, ...]]:
    """Every satisfying assignment in lexicographic order of variable index.

    Raises:
        BudgetEndedError: the tree has more than ``nodes`` nodes.
    """
    yield from _Tree(model, nodes, float("inf")).solutions()


def _proves(model: Model, budget: Budget, ends_at: float) -> bool:
    tree = _Tree(model, budget.work_limit * NODES_PER_UNIT, ends_at)
    try:
        return next(tree.solutions(), None) is None
    except BudgetEndedError:
        return False


def _variables_of(constraint: Constraint) -> set[int]:
    terms = constraint.expr.terms if constraint.expr is not None else ()
    literals = (*constraint.when, *constraint.clause)
    return {v.index for _, v in terms} | {literal.var.index for literal in literals}


def _range(expr: Expr, domains: Sequence[Domain]) -> Domain:
    low = high = expr.constant
    for coefficient, variable in expr.terms:
        ends = (coefficient * domains[variable.index][0], coefficient * domains[variable.index][1])
        low, high = low + min(ends), high + max(ends)
    return low, high


def _truth(literal: Literal, domains: Sequence[Domain]) -> bool | None:
    low, high = domains[literal.var.index]
    if low <= 0 <= high and low != high:
        return None
    return bool(low or high) == literal.positive


def _assert(literal: Literal, domains: list[Domain], changed: set[int]) -> None:
    value = int(literal.positive)
    domains[literal.var.index] = (value, value)
    changed.add(literal.var.index)


def _narrow(constraint: Constraint, domains: list[Domain], changed: set[int]) -> bool:
    """Narrows domains by one constraint; False if it cannot hold any more."""
    truths = [(literal, _truth(literal, domains)) for literal in constraint.when]
    if any(truth is False for _, truth in truths):
        return True
    open_guards = [literal for literal, truth in truths if truth is None]
    if constraint.expr is None:
        free = [literal for literal in constraint.clause if _truth(literal, domains) is None]
        if any(_truth(literal, domains) for literal in constraint.clause):
            return True
        free = [*free, *(literal.negated() for literal in open_guards)]
        if len(free) == 1:
            _assert(free[0], domains, changed)
        return bool(free)
    low, high = _range(constraint.expr, domains)
    least = low if constraint.lo is None else constraint.lo
    most = high if constraint.hi is None else constraint.hi
    if high < least or low > most:
        if len(open_guards) == 1:
            _assert(open_guards[0].negated(), domains, changed)
        return bool(open_guards)
    return bool(open_guards) or _narrow_linear(constraint.expr, least - low, most - high, (low, high), domains, changed)


def _narrow_linear(
    expr: Expr, low_slack: int, high_slack: int, reach: Domain, domains: list[Domain], changed: set[int]
) -> bool:
    """Bounds consistency of ``least <= expr <= most`` given as distances from the expression's own range."""
    low, high = reach
    least, most = low + low_slack, high + high_slack
    for coefficient, variable in expr.terms:
        lo, hi = domains[variable.index]
        own_low, own_high = sorted((coefficient * lo, coefficient * hi))
        top = min(own_high, most - (low - own_low))
        bottom = max(own_low, least - (high - own_high))
        if coefficient > 0:
            new = (-(-bottom // coefficient), top // coefficient)
        else:
            new = (-(top // -coefficient), -bottom // -coefficient)
        if new[0] > new[1]:
            return False
        if new != (lo, hi):
            domains[variable.index] = new
            changed.add(variable.index)
            own = sorted((coefficient * new[0], coefficient * new[1]))
            low, high = low - own_low + own[0], high - own_high + own[1]
    return True
