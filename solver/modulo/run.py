"""One solve of a modulo problem: its budget, and its attempts with their results."""

import time
from dataclasses import dataclass, field, replace

from warpwright.solver.engines import Budget, Engine, EngineResult
from warpwright.solver.engines.model import Model
from warpwright.solver.modulo.encoding import DEFINITIONS, ModuloEncoding
from warpwright.solver.modulo.families import FAMILIES
from warpwright.solver.modulo.problem import ModuloProblem, ModuloSchedule
from warpwright.solver.modulo.verify import verify

__all__ = ["SearchCall", "SearchRun", "UnverifiedScheduleError", "checked", "encode"]


class UnverifiedScheduleError(RuntimeError):
    """A search returned a schedule that the replay refuses: a bug in Warpwright; it is never returned as an answer."""


@dataclass(frozen=True, slots=True)
class SearchCall:
    """One call of a search: which intervals, its result, and its cost."""

    low: int
    high: int
    status: str
    work: int
    seconds: float
    engine: str


@dataclass(slots=True)
class SearchRun:
    """The engine, the remaining budget, and the attempts so far."""

    engine: Engine
    budget: Budget
    left: int = field(init=False)
    ends_at: float = field(init=False)
    attempts: list[SearchCall] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.left = self.budget.work_limit
        self.ends_at = time.monotonic() + self.budget.wall_seconds

    def over(self) -> bool:
        """Whether the budget is used up."""
        return self.left <= 0 or time.monotonic() >= self.ends_at

    def ask(self, encoding: ModuloEncoding, limit: int, *, quick: bool = False, restart: int = 0) -> EngineResult:
        """Gives one model to the engine with the remaining budget, at most ``limit`` work."""
        began = time.monotonic()
        budget = replace(
            self.budget,
            work_limit=max(min(limit, self.left), 1),
            wall_seconds=max(self.ends_at - began, 0.001),
            seed=self.budget.seed + restart,
            quick=quick,
        )
        result = self.engine.solve(_unlabelled(encoding.model), budget)
        self.note(encoding.low, encoding.high, result.status.value, result.work, began, self.engine.name)
        return result

    def note(self, low: int, high: int, status: str, work: int, began: float, engine: str) -> None:
        """Records an attempt and subtracts its work from the budget."""
        self.left -= work
        self.attempts.append(SearchCall(low, high, status, work, round(time.monotonic() - began, 4), engine))


def encode(problem: ModuloProblem, low: int, high: int) -> ModuloEncoding:
    """The model of a problem with every family's constraints, for intervals from ``low`` to ``high``."""
    encoding = ModuloEncoding(problem, low, high)
    for family in FAMILIES:
        family.build(encoding)
    return encoding


def checked(problem: ModuloProblem, schedule: ModuloSchedule) -> ModuloSchedule:
    """The schedule, after the replay has found nothing wrong with it.

    Raises:
        UnverifiedScheduleError: it breaks a rule.
    """
    broken = verify(problem, schedule)
    if broken:
        raise UnverifiedScheduleError("; ".join(violation.message for violation in broken))
    return schedule


def _unlabelled(model: Model) -> Model:
    """The model with every constraint as a definition, so that an infeasible probe costs no search for a core."""
    constraints = [replace(constraint, family=DEFINITIONS) for constraint in model.constraints]
    return replace(model, constraints=constraints)
