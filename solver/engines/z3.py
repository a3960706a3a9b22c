"""Z3 adapter: the second opinion, with one labelled assumption per family and minimised cores.

Every solve has its own context and a plain SMT solver: Z3's default tactics depend on elapsed time and on earlier queries
(Z3 issues 7525, 2260). The limit is Z3's resource counter; one work unit is ``RESOURCES_PER_UNIT`` of it, about a
millisecond. Objectives are minimised by probing: first the lowest value that the bounds allow (a hit is a proof), then
bisection. A probe that Z3 cannot decide leaves the answer FEASIBLE; it is never read as infeasible.
"""

import time
from collections.abc import Sequence

import z3

from warpwright.solver.engines.core import ALWAYS, families_of, minimise_core
from warpwright.solver.engines.model import Constraint, Expr, Literal, Model, Var
from warpwright.solver.engines.port import Budget, EngineResult, EngineStatus, OnSolution, evaluate, out_of_range

__all__ = ["Z3Engine"]

RESOURCES_PER_UNIT = 500
CORE_SHARE = 4


class _Search:
    """One model inside one fresh context, with its meter."""

    def __init__(self, model: Model, budget: Budget) -> None:
        self.model = model
        self.context = z3.Context()
        self.solver = z3.SimpleSolver(ctx=self.context)
        self.solver.set("random_seed", budget.seed)
        self.left = budget.work_limit * RESOURCES_PER_UNIT
        self.spent = 0
        self.ends_at = time.monotonic() + budget.wall_seconds
        self.terms = [self._variable(variable) for variable in model.variables]
        self.labels = {family: z3.Bool(f"family:{family}", self.context) for family in families_of(model)}
        for variable, term in zip(model.variables, self.terms, strict=True):
            if not _is_boolean(variable):
                self.solver.add(term >= variable.lo, term <= variable.hi)
        for constraint in model.constraints:
            formula = self._formula(constraint)
            label = None if constraint.family == ALWAYS else self.labels[constraint.family]
            self.solver.add(formula if label is None else z3.Implies(label, formula))

    def check(self, families: Sequence[str] | None = None, *probes: z3.BoolRef) -> z3.CheckSatResult:
        """Decides the model under these families (all if None) and extra formulas; unknown if the budget is used up."""
        seconds = self.ends_at - time.monotonic()
        if self.left <= 0 or seconds <= 0:
            return z3.unknown
        self.solver.set("rlimit", max(int(self.left), 1))
        self.solver.set("timeout", max(int(seconds * 1000), 1))
        before = self._resources()
        assumptions = [self.labels[family] for family in (self.labels if families is None else families)]
        verdict = self.solver.check(*assumptions, *probes)
        used = max(self._resources() - before, 1)
        self.left -= used
        self.spent += used
        return verdict

    def values(self) -> tuple[int, ...]:
        """The assignment that the last satisfiable check found."""
        found = self.solver.model()
        return tuple(
            int(z3.is_true(found.eval(term, model_completion=True)))
            if _is_boolean(variable)
            else found.eval(term, model_completion=True).as_long()
            for variable, term in zip(self.model.variables, self.terms, strict=True)
        )

    def core(self) -> tuple[str, ...]:
        """Families of the last unsatisfiable check, in the order of the model."""
        named = {str(label) for label in self.solver.unsat_core()}
        return tuple(family for family in self.labels if f"family:{family}" in named)

    def at_most(self, expr: Expr, bound: int) -> z3.BoolRef:
        """A fresh literal that implies ``expr <= bound``; passing it to :meth:`check` posts the bound for that check."""
        literal = z3.FreshBool("bound", self.context)
        self.solver.add(z3.Implies(literal, self._sum(expr) <= bound))
        return literal

    def fix(self, expr: Expr, value: int) -> None:
        """Keeps a finished objective level at its optimum."""
        self.solver.add(self._sum(expr) <= value)

    def units(self) -> int:
        """Work so far in the port's units."""
        return max(1, round(self.spent / RESOURCES_PER_UNIT))

    def _resources(self) -> int:
        statistics = self.solver.statistics()
        counters = dict(statistics[position] for position in range(len(statistics)))
        return int(counters.get("rlimit count", 0))

    def _variable(self, variable: Var) -> z3.ExprRef:
        make = z3.Bool if _is_boolean(variable) else z3.Int
        return make(f"{variable.name}#{variable.index}", self.context)

    def _literal(self, literal: Literal) -> z3.BoolRef:
        term = self.terms[literal.var.index]
        holds = term if _is_boolean(literal.var) else term != 0
        return holds if literal.positive else z3.Not(holds)

    def _formula(self, constraint: Constraint) -> z3.BoolRef:
        if constraint.expr is None:
            body = z3.Or(*[self._literal(literal) for literal in constraint.clause], self._false())
        else:
            body = self._between(constraint.expr, constraint.lo, constraint.hi)
        guards = [self._literal(literal) for literal in constraint.when]
        return z3.Implies(z3.And(*guards), body) if guards else body

    def _between(self, expr: Expr, low: int | None, high: int | None) -> z3.BoolRef:
        if expr.terms and all(_is_boolean(v) for _, v in expr.terms):
            weighted = [(self.terms[v.index], c) for c, v in expr.terms]
            if low is not None and low == high:
                return z3.PbEq(weighted, low - expr.constant)
            sides = [] if low is None else [z3.PbGe(weighted, low - expr.constant)]
            sides += [] if high is None else [z3.PbLe(weighted, high - expr.constant)]
        else:
            total = self._sum(expr)
            sides = [] if low is None else [total >= low]
            sides += [] if high is None else [total <= high]
        return z3.And(*sides, z3.Not(self._false()))

    def _sum(self, expr: Expr) -> z3.ArithRef:
        parts = [
            z3.If(self.terms[v.index], z3.IntVal(c, self.context), z3.IntVal(0, self.context))
            if _is_boolean(v)
            else self.terms[v.index] * c
            for c, v in expr.terms
        ]
        return z3.Sum(*parts, z3.IntVal(expr.constant, self.context))

    def _false(self) -> z3.BoolRef:
        return z3.BoolVal(False, self.context)


class Z3Engine:
    """Z3 behind the engine port."""

    name = "z3"
    version = f"z3 {z3.get_version_string()}"

    def solve(
        self,
        model: Model,
        budget: Budget,
        hint: Sequence[int | None] | None = None,
        *,
        on_solution: OnSolution | None = None,
    ) -> EngineResult:
        """See :class:`warpwright.solver.engines.port.Engine`. Z3 does not use a hint."""
        reason = out_of_range(model)
        if reason:
            return EngineResult(EngineStatus.UNKNOWN, None, (), (), (), 0, f"model out of range: {reason}")
        search = _Search(model, budget)
        first = search.check()
        if first == z3.unsat:
            return _infeasible(search, budget)
        if first == z3.unknown:
            return EngineResult(EngineStatus.UNKNOWN, None, (), (), (), search.units(), _why(search))
        values = search.values()
        if on_solution:
            on_solution(values)
        bounds: list[int] = []
        for level in model.objectives:
            values, bound = _minimise(search, level, values, on_solution)
            bounds.append(bound)
            reached = evaluate(level, values)
            if bound < reached:
                objectives = tuple(evaluate(expr, values) for expr in model.objectives)
                why = f"the budget ended at objective level {len(bounds)} of {len(model.objectives)} ({_why(search)})"
                return EngineResult(EngineStatus.FEASIBLE, values, objectives, tuple(bounds), (), search.units(), why)
            search.fix(level, reached)
        objectives = tuple(evaluate(expr, values) for expr in model.objectives)
        return EngineResult(EngineStatus.OPTIMAL, values, objectives, tuple(bounds), (), search.units(), "")


def _minimise(
    search: _Search, level: Expr, values: tuple[int, ...], on_solution: OnSolution | None
) -> tuple[tuple[int, ...], int]:
    """The best assignment of one level and its proven lower bound; they are equal if it is optimal."""
    low, high = least(level), evaluate(level, values)
    probe = low
    while low < high:
        verdict = search.check(None, search.at_most(level, probe))
        if verdict == z3.sat:
            values = search.values()
            high = evaluate(level, values)
            if on_solution:
                on_solution(values)
        elif verdict == z3.unsat:
            low = probe + 1
        else:
            return values, low
        probe = low + (high - low) // 2
    return values, high


def least(expr: Expr) -> int:
    """The smallest value that the variables' own bounds allow."""
    return expr.constant + sum(c * (v.lo if c > 0 else v.hi) for c, v in expr.terms)


def _infeasible(search: _Search, budget: Budget) -> EngineResult:
    start = search.core()
    search.left = min(search.left, budget.work_limit * RESOURCES_PER_UNIT // CORE_SHARE)
    core = minimise_core(start, lambda families: search.check(families) == z3.unsat)
    reason = "no assignment satisfies " + (" with ".join(core) or "the variables' own bounds")
    return EngineResult(EngineStatus.INFEASIBLE, None, (), (), core, search.units(), reason)


def _is_boolean(variable: Var) -> bool:
    return (variable.lo, variable.hi) == (0, 1)


def _why(search: _Search) -> str:
    if search.left <= 0:
        return "work limit"
    return "wall clock" if time.monotonic() >= search.ends_at else str(search.solver.reason_unknown())
