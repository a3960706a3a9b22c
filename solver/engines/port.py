"""The engine port: a model and a budget in, one of four statuses out.

Budgets are deterministic work first and wall clock second, because a limit in seconds gives another answer on another
machine (literature: eight runs under a wall limit gave eight layouts). One unit of work is about a millisecond of search
on a current core, counted by the engine's own deterministic counter; each adapter says how it converts.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib import import_module
from typing import Protocol

from warpwright.solver.engines.model import Constraint, Expr, Model

__all__ = [
    "Budget",
    "Engine",
    "EngineResult",
    "EngineStatus",
    "OnSolution",
    "engine",
    "engine_names",
    "evaluate",
    "holds",
    "out_of_range",
]

LARGEST_SUM = 2**53
"""Largest magnitude a constraint's sum may reach. Engines use 64 bits; the margin keeps their internal sums exact too."""

OnSolution = Callable[[tuple[int, ...]], None]
"""Called with the values of every improving assignment, so that a killed solve leaves its best answer behind."""


class EngineStatus(StrEnum):
    """An engine's possible statuses. ``FEASIBLE`` means that a limit stopped the proof, ``UNKNOWN`` says nothing
    about feasibility.
    """

    OPTIMAL = "optimal"
    FEASIBLE = "feasible"
    INFEASIBLE = "infeasible"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits of one solve: ``work_limit`` in work units (about a millisecond each), and ``wall_seconds`` as a second limit.

    ``quick`` asks for short probes of pure ordering problems: little preparation, no linear relaxation. It changes how an
    engine searches, never what it may answer; an engine without such a mode ignores it.
    """

    work_limit: int = 20_000
    wall_seconds: float = 120.0
    seed: int = 0
    quick: bool = False


@dataclass(frozen=True, slots=True)
class EngineResult:
    """One answer. ``values`` are by variable index; ``objectives`` and ``bounds`` are by level, as far as they were reached.

    ``core`` names families that cannot hold together (minimal unless a limit stopped the minimisation); ``reason`` says in
    words why the status is not OPTIMAL.
    """

    status: EngineStatus
    values: tuple[int, ...] | None
    objectives: tuple[int, ...]
    bounds: tuple[int, ...]
    core: tuple[str, ...]
    work: int
    reason: str


class Engine(Protocol):
    """A constraint engine. Implementations keep no state between calls; a call never leaves a thread behind."""

    @property
    def name(self) -> str:
        """The name for :func:`engine`."""
        ...

    @property
    def version(self) -> str:
        """Version of the library behind it, for certificates."""
        ...

    def solve(
        self,
        model: Model,
        budget: Budget,
        hint: Sequence[int | None] | None = None,
        *,
        on_solution: OnSolution | None = None,
    ) -> EngineResult:
        """Minimise the model's objectives in lexicographic order.

        Args:
            model: The closed model; it is not changed.
            budget: Work, wall clock and seed.
            hint: Values by variable index to start from, None if unknown; they may be wrong.
            on_solution: Called with each improving assignment.
        """
        ...


_ADAPTERS = {
    "cpsat": "warpwright.solver.engines.cpsat:CpSatEngine",
    "z3": "warpwright.solver.engines.z3:Z3Engine",
    "enumerate": "warpwright.solver.engines.enumerate:EnumerationEngine",
}


def engine_names() -> tuple[str, ...]:
    """Names that :func:`engine` knows, the default first."""
    return tuple(_ADAPTERS)


def engine(name: str = "cpsat") -> Engine:
    """The engine with this name; its library is imported only here.

    Raises:
        ValueError: there is no engine with this name.
    """
    if name not in _ADAPTERS:
        raise ValueError(f"there is no engine {name!r}; choose one of {', '.join(_ADAPTERS)}")
    module, _, adapter = _ADAPTERS[name].partition(":")
    made: Engine = getattr(import_module(module), adapter)()
    return made


def evaluate(expr: Expr, values: Sequence[int]) -> int:
    """The value of an expression under an assignment."""
    return expr.constant + sum(coefficient * values[variable.index] for coefficient, variable in expr.terms)


def holds(constraint: Constraint, values: Sequence[int]) -> bool:
    """Whether an assignment satisfies one constraint."""
    if any(bool(values[guard.var.index]) != guard.positive for guard in constraint.when):
        return True
    if constraint.expr is None:
        return any(bool(values[literal.var.index]) == literal.positive for literal in constraint.clause)
    total = evaluate(constraint.expr, values)
    return (constraint.lo is None or total >= constraint.lo) and (constraint.hi is None or total <= constraint.hi)


def out_of_range(model: Model) -> str:
    """Names the first sum that could leave exact integer range, or returns an empty text.

    An engine would call such a model invalid or overflow silently; neither may look like "no solution".
    """
    places = [(f"{c.family}: {c.note or 'constraint'}", c.expr, (c.lo, c.hi)) for c in model.constraints]
    places += [("objective", objective, (None, None)) for objective in model.objectives]
    for place, expr, bounds in places:
        if expr is None:
            continue
        reach = abs(expr.constant) + sum(abs(c) * max(abs(v.lo), abs(v.hi)) for c, v in expr.terms)
        if max(reach, *(abs(b) for b in bounds if b is not None), 0) > LARGEST_SUM:
            return f"{place} can reach {reach}, beyond {LARGEST_SUM}"
    return ""
