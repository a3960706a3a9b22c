"""CP-SAT adapter (OR-Tools): the default engine.

One worker and a fixed seed, limited by CP-SAT's deterministic time; one work unit is a thousandth of it. Lexicographic
objectives are successive solves, each with the earlier levels fixed. FEASIBLE is never promoted: a level that a limit stopped
ends the answer, whatever the solver's own status (OR-Tools issues 3089, 4430).
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import ortools
from ortools.sat.python import cp_model

from warpwright.solver.engines.core import families_of, minimise_core, restricted
from warpwright.solver.engines.model import Expr, Literal, Model
from warpwright.solver.engines.port import Budget, EngineResult, EngineStatus, OnSolution, evaluate, out_of_range

__all__ = ["CpSatEngine"]

UNITS_PER_DETERMINISTIC_SECOND = 1000
CORE_SHARE = 4
"""Minimising a core may use an extra quarter of the budget: a core that is not minimal is still an explanation."""


class _Reporter(cp_model.CpSolverSolutionCallback):  # type: ignore[misc]  # the wheel's base class has no types
    """Passes every improving assignment on while the search runs."""

    def __init__(self, variables: Sequence[cp_model.IntVar], on_solution: OnSolution) -> None:
        super().__init__()
        self._variables = variables
        self._on_solution = on_solution

    def on_solution_callback(self) -> None:
        """Called by CP-SAT from its search thread, while :meth:`solve` waits."""
        self._on_solution(tuple(self.value(variable) for variable in self._variables))


class _Translation:
    """A model in CP-SAT's terms."""

    def __init__(self, model: Model) -> None:
        self.native = cp_model.CpModel()
        self.variables = [
            self.native.new_bool_var(v.name) if (v.lo, v.hi) == (0, 1) else self.native.new_int_var(v.lo, v.hi, v.name)
            for v in model.variables
        ]
        for constraint in model.constraints:
            guards = [self._literal(literal) for literal in constraint.when]
            if constraint.expr is None:
                added = self.native.add_bool_or([self._literal(literal) for literal in constraint.clause])
            else:
                low = cp_model.INT_MIN if constraint.lo is None else constraint.lo
                high = cp_model.INT_MAX if constraint.hi is None else constraint.hi
                added = self.native.add_linear_constraint(self.expression(constraint.expr), low, high)
            if guards:
                added.only_enforce_if(*guards)

    def expression(self, expr: Expr) -> cp_model.LinearExpr:
        """The linear expression over this translation's variables."""
        terms = [self.variables[v.index] for _, v in expr.terms]
        return cp_model.LinearExpr.weighted_sum(terms, [c for c, _ in expr.terms]) + expr.constant

    def hint(self, values: Sequence[int | None]) -> None:
        """Replaces the assignment that the next search starts from."""
        self.native.clear_hints()
        for variable, value in zip(self.variables, values, strict=True):
            if value is not None:
                self.native.add_hint(variable, value)

    def _literal(self, literal: Literal) -> cp_model.LiteralT:
        variable = self.variables[literal.var.index]
        return variable if literal.positive else variable.negated()


@dataclass(slots=True)
class _Meter:
    """The remaining budget."""

    units_left: float
    ends_at: float
    seed: int
    quick: bool = False
    spent: float = 0.0

    def solver(self) -> cp_model.CpSolver:
        """A fresh solver, limited to the remaining budget."""
        made = cp_model.CpSolver()
        made.parameters.num_workers = 1
        made.parameters.random_seed = self.seed
        if self.quick:
            made.parameters.linearization_level = 0
            made.parameters.cp_model_probing_level = 0
            made.parameters.symmetry_level = 0
            made.parameters.max_presolve_iterations = 1
        made.parameters.cp_model_probing_level = (
            0  # these models are small: probing cost more than it saved on each of them
        )
        made.parameters.symmetry_level = 0
        made.parameters.max_deterministic_time = max(self.units_left, 0.0) / UNITS_PER_DETERMINISTIC_SECOND
        made.parameters.max_time_in_seconds = max(self.ends_at - time.monotonic(), 0.001)
        return made

    def charge(self, solver: cp_model.CpSolver) -> None:
        """Subtracts a finished search from the budget."""
        used = solver.response_proto.deterministic_time * UNITS_PER_DETERMINISTIC_SECOND
        self.units_left -= used
        self.spent += used


class CpSatEngine:
    """CP-SAT behind the engine port."""

    name = "cpsat"
    version = f"ortools {ortools.__version__}"

    def solve(
        self,
        model: Model,
        budget: Budget,
        hint: Sequence[int | None] | None = None,
        *,
        on_solution: OnSolution | None = None,
    ) -> EngineResult:
        """See :class:`warpwright.solver.engines.port.Engine`."""
        reason = out_of_range(model)
        if reason:
            return EngineResult(EngineStatus.UNKNOWN, None, (), (), (), 0, f"model out of range: {reason}")
        meter = _Meter(float(budget.work_limit), time.monotonic() + budget.wall_seconds, budget.seed, budget.quick)
        translation = _Translation(model)
        reporter = _Reporter(translation.variables, on_solution) if on_solution else None
        values = None
        if hint is not None:
            translation.hint(hint)
        objectives: list[int] = []
        bounds: list[int] = []
        for level in model.objectives or [Expr(())]:
            native = translation.expression(level)
            translation.native.minimize(native)
            solver = meter.solver()
            status = solver.solve(translation.native, reporter) if reporter else solver.solve(translation.native)
            meter.charge(solver)
            if status == cp_model.INFEASIBLE and values is None:
                return self._infeasible(model, meter, budget)
            if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
                return self._cut(model, values, objectives, bounds, meter, solver.status_name(status))
            values = tuple(solver.value(variable) for variable in translation.variables)
            reached = evaluate(level, values)
            objectives.append(reached)
            if status != cp_model.OPTIMAL:
                bounds.append(max(_floor(solver.best_objective_bound), _least(level)))
                return self._cut(model, values, objectives, bounds, meter, "limit")
            bounds.append(reached)
            translation.native.add(native == reached)
            translation.hint(values)
        if not model.objectives:
            objectives, bounds = [], []
        return EngineResult(EngineStatus.OPTIMAL, values, tuple(objectives), tuple(bounds), (), _units(meter.spent), "")

    def _cut(
        self,
        model: Model,
        values: tuple[int, ...] | None,
        objectives: list[int],
        bounds: list[int],
        meter: _Meter,
        why: str,
    ) -> EngineResult:
        status = EngineStatus.UNKNOWN if values is None else EngineStatus.FEASIBLE
        if values is not None:
            objectives = [evaluate(level, values) for level in model.objectives]
        reason = f"the budget ended at objective level {max(len(bounds), 1)} of {len(model.objectives)} ({why})"
        return EngineResult(status, values, tuple(objectives), tuple(bounds), (), _units(meter.spent), reason)

    def _infeasible(self, model: Model, meter: _Meter, budget: Budget) -> EngineResult:
        meter.units_left = min(meter.units_left, budget.work_limit / CORE_SHARE)

        def infeasible(families: tuple[str, ...]) -> bool:
            if meter.units_left <= 0 or time.monotonic() >= meter.ends_at:
                return False
            solver = meter.solver()
            status = solver.solve(_Translation(restricted(model, families)).native)
            meter.charge(solver)
            return bool(status == cp_model.INFEASIBLE)

        core = minimise_core(families_of(model), infeasible)
        reason = "no assignment satisfies " + (" with ".join(core) or "the variables' own bounds")
        return EngineResult(EngineStatus.INFEASIBLE, None, (), (), core, _units(meter.spent), reason)


def _units(spent: float) -> int:
    return max(1, round(spent))


def _floor(bound: float) -> int:
    return int(bound // 1)


def _least(expr: Expr) -> int:
    return expr.constant + sum(c * (v.lo if c > 0 else v.hi) for c, v in expr.terms)
