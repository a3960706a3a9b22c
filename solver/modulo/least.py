"""The search for the least interval: the constructive search and the engine take turns at the bound, then above it.

An interval equal to a lower bound is optimal, whoever finds it. Only the engine excludes an interval: a constructive
search, a guess of the groups or a probe that finds nothing proves nothing.
"""

from dataclasses import dataclass, field

from warpwright.solver.domain.verdict import Bound
from warpwright.solver.engines import EngineResult, EngineStatus
from warpwright.solver.modulo.builder import Builder
from warpwright.solver.modulo.encoding import ModuloEncoding
from warpwright.solver.modulo.guess import guesses
from warpwright.solver.modulo.problem import ModuloProblem, ModuloSchedule
from warpwright.solver.modulo.run import SearchRun, checked, encode
from warpwright.solver.modulo.size import LARGEST_MODEL, joint_size, with_groups_of

__all__ = ["ARITHMETIC", "SEARCHED", "Least", "excluded", "least_interval"]

GUESS_WORK = 60
"""Work for the timing under one guess of the groups in the first round; it doubles every round."""
ROUND_WORK = 120
"""Work of the first short joint search; it doubles every second round."""
ROUNDS = 5
UPPER_PARTS = (64, 16, 4, 2, 1)
"""Fractions above the bound that are probed for some schedule if the bound itself has none."""
COSTLY_MODEL = 30_000
"""From this number of constraints on, a schedule above the bound is built before the joint model: its groups are a good guess."""
REFINEMENTS = 4
"""How often the constructive search descends, each time with more work, if no engine can exclude anything."""
ARITHMETIC = "arithmetic"
SEARCHED = "search: every smaller interval excluded"


@dataclass(slots=True)
class Least:
    """The present knowledge: no schedule and no ``reason`` means that none exists."""

    bound: Bound
    schedule: ModuloSchedule | None = None
    found_by: str = ""
    proven_by: str = ""
    """The origin of the bound: arithmetic, or the engine that excluded smaller intervals."""
    reason: str = ""
    pinned: list[ModuloProblem] = field(default_factory=list)
    """Guesses of the groups that are not refuted yet."""

    def met(self) -> bool:
        """Whether the schedule is as short as the bound."""
        return self.schedule is not None and self.schedule.interval == self.bound.cycles

    def accept(self, schedule: ModuloSchedule, found_by: str) -> None:
        """Accepts a checked schedule if it is shorter than the known one."""
        if self.schedule is None or schedule.interval < self.schedule.interval:
            self.schedule, self.found_by = schedule, found_by

    def exclude(self, bound: Bound, engine: str) -> None:
        """Raises the bound to one that an engine has proven."""
        if bound.cycles > self.bound.cycles:
            self.bound, self.proven_by = bound, engine


def excluded(bound: Bound) -> Bound:
    """The bound after a search has excluded its own interval."""
    return Bound(bound.cycles + 1, f"{bound.reason} excluded by search")


def least_interval(run: SearchRun, problem: ModuloProblem, first: Bound, high: int, *, constructive: bool) -> Least:
    """The least interval from the bound ``first`` up to ``high``, as far as the budget allows."""
    least = Least(first, proven_by=ARITHMETIC)
    builder = Builder(run, problem) if constructive else None
    size = joint_size(problem)
    fits = size <= LARGEST_MODEL
    if builder is not None and not builder.at(least, first.cycles) and size > COSTLY_MODEL:
        builder.descend(least, high)
    _at_the_bound(run, problem, least, builder, high, fits=fits)
    if least.met() or least.bound.cycles > high:
        return least
    _closer(run, problem, least, high, fits=fits)
    for _ in range(1 if fits else REFINEMENTS):
        if builder is not None and not least.met():
            builder.descend(least, high)
    if least.met():
        return least
    if run.over():
        least.reason = "the budget ended before every smaller interval was excluded"
    elif not fits:
        least.reason = f"the joint model would have more than {LARGEST_MODEL} constraints, so no interval was excluded"
    else:
        _exclude(run, problem, least, high)
    return least


def _exclude(run: SearchRun, problem: ModuloProblem, least: Least, high: int) -> None:
    """One model with the interval as a variable: its bound excludes all smaller intervals at once."""
    best = least.schedule
    wide = encode(problem, least.bound.cycles, best.interval - 1 if best else high)
    wide.model.minimize(wide.interval)
    result = run.ask(wide, run.left)
    if result.bounds:
        least.exclude(Bound(result.bounds[0], SEARCHED), run.engine.name)
    if result.values is not None:
        least.accept(checked(problem, wide.schedule(result.values)), run.engine.name)
    infeasible = result.status is EngineStatus.INFEASIBLE
    if infeasible and best is not None:
        least.exclude(Bound(best.interval, SEARCHED), run.engine.name)
    least.reason = "" if infeasible else result.reason


def _at_the_bound(
    run: SearchRun, problem: ModuloProblem, least: Least, builder: Builder | None, high: int, *, fits: bool
) -> None:
    """A schedule of the bound's interval, or its exclusion.

    Guesses, the joint model and the constructive search take turns with growing limits and new seeds: the time to a first
    schedule varies by a factor of ten with the seed, and which of them is easy differs from problem to problem.
    """
    if least.met():
        return
    least.reason = "the budget ended before the first search"
    if run.over():
        return
    interval = least.bound.cycles
    least.pinned = list(guesses(problem, interval, run.engine, run.budget.seed))
    models = [encode(guess, interval, interval) for guess in least.pinned]
    joint: ModuloEncoding | None = None
    for restart in range(ROUNDS):
        if least.schedule is not None and restart < 2:
            _add_guess(problem, least, models)
        for index in reversed(range(len(models))):
            if run.over():
                return
            result = run.ask(models[index], GUESS_WORK << restart, quick=True, restart=restart)
            if result.values is not None:
                least.accept(checked(problem, models[index].schedule(result.values)), run.engine.name)
                return
            if result.status is EngineStatus.INFEASIBLE:  # only of the guess
                del least.pinned[index], models[index]
            else:
                least.reason = result.reason
        if fits and not run.over():
            joint = joint or encode(problem, interval, interval)
            result = run.ask(joint, ROUND_WORK << restart // 2, quick=True, restart=restart)
            if _settled(run, problem, least, joint.schedule(result.values) if result.values else None, result):
                return
        if builder is not None and builder.at(least, interval):
            return
        if builder is not None and least.schedule is None:
            builder.descend(least, high)


def _add_guess(problem: ModuloProblem, least: Least, models: list[ModuloEncoding]) -> None:
    """The groups of the known schedule as one more guess at the bound, unless there is no choice or the guess already exists."""
    assert least.schedule is not None
    guess = with_groups_of(problem, least.schedule)
    if guess not in least.pinned and any(len(problem.candidates(op)) > 1 for op in problem.ops):
        least.pinned.append(guess)
        models.append(encode(guess, least.bound.cycles, least.bound.cycles))


def _settled(
    run: SearchRun, problem: ModuloProblem, least: Least, schedule: ModuloSchedule | None, result: EngineResult
) -> bool:
    """Whether the joint model has answered: a schedule at the bound, or none there."""
    least.reason = result.reason
    if schedule is not None:
        least.accept(checked(problem, schedule), run.engine.name)
        return True
    if result.status is EngineStatus.INFEASIBLE:
        least.reason = ""
        least.exclude(excluded(least.bound), run.engine.name)
        return True
    return False


def _closer(run: SearchRun, problem: ModuloProblem, least: Least, high: int, *, fits: bool) -> None:
    """A schedule at one of a few intervals above the bound, so that the search over all intervals has a small range."""
    forms = [*least.pinned[:1], *([problem] if fits else [])]
    for part in UPPER_PARTS:
        interval = least.bound.cycles + least.bound.cycles // part
        if interval > high or run.over() or (least.schedule and interval >= least.schedule.interval):
            break
        for form in forms:
            encoding = encode(form, interval, interval)
            result = run.ask(encoding, ROUND_WORK, quick=True)
            if result.values is not None:
                least.accept(checked(problem, encoding.schedule(result.values)), run.engine.name)
                return
