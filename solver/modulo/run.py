"""One solve of a modulo problem: what it may spend, whom it asked, and what each said."""

import time
from dataclasses import dataclass, field, replace

from warpwright.solver.engines import Budget, Engine, EngineResult
from warpwright.solver.engines.model import Model
from warpwright.solver.modulo.encoding import DEFINITIONS, Encoding
from warpwright.solver.modulo.families import FAMILIES
from warpwright.solver.modulo.problem import ModuloProblem, ModuloSchedule
from warpwright.solver.modulo.verify import verify

__all__ = ["Attempt", "Run", "UnverifiedScheduleError", "checked", "encode"]


class UnverifiedScheduleError(RuntimeError):
    """A search returned a schedule that the replay refuses: a fault of ours, never handed on as an answer."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One question to a search: which intervals, what it said, and what it cost."""

    low: int
    high: int
    status: str
    work: int
    seconds: float
    engine: str


@dataclass(slots=True)
class Run:
    """The engine, what is left of the budget, and the attempts so far."""

    engine: Engine
    budget: Budget
    left: int = field(init=False)
    ends_at: float = field(init=False)
    attempts: list[Attempt] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.left = self.budget.work_limit
        self.ends_at = time.monotonic() + self.budget.wall_seconds

    def over(self) -> bool:
        """Whether nothing is left of the budget."""
        return self.left <= 0 or time.monotonic() >= self.ends_at

    def ask(self, encoding: Encoding, limit: int, *, quick: bool = False, restart: int = 0) -> EngineResult:
        """Puts one model to the engine under what is left, at most ``limit`` work."""
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
        """Records an attempt and takes its work off the budget."""
        self.left -= work
        self.attempts.append(Attempt(low, high, status, work, round(time.monotonic() - began, 4), engine))


def encode(problem: ModuloProblem, low: int, high: int) -> Encoding:
    """The model of a problem with every family's constraints, for intervals from ``low`` to ``high``."""
    encoding = Encoding(problem, low, high)
    for family in FAMILIES:
        family.build(encoding)
    return encoding


def checked(problem: ModuloProblem, schedule: ModuloSchedule) -> ModuloSchedule:
    """The schedule, once the replay has found nothing wrong with it.

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
