"""The constructive search as part of a solve: at one interval, up to the first that works, and down again."""

import time
from typing import Protocol

from warpwright.solver.domain.verdict import Bound
from warpwright.solver.modulo.construct import construct
from warpwright.solver.modulo.problem import ModuloProblem, ModuloSchedule
from warpwright.solver.modulo.run import SearchRun, checked
from warpwright.solver.modulo.size import joint_size

__all__ = ["CONSTRUCTIVE", "VERSION", "Builder"]

CONSTRUCTIVE, VERSION = "constructive", "warpwright-constructive/1"
"""Its name and version, next to those of the engines. It finds schedules; it never excludes an interval."""
LEAST_WORK, CONSTRAINTS_A_WORK = 10, 50
"""The first search at an interval takes about as long as building the joint model does; a later one twice as long."""
AT_BOUND, DESCENDING = 4, 16
"""Each search may use at most this fraction (1/n) of the whole budget; the second number is for the descent to the bound."""
NEAR = 256
"""Refinement ends when the gap between success and failure is this fraction (1/n)."""


class _Known(Protocol):
    """The receiver of the search's schedules."""

    bound: Bound
    schedule: ModuloSchedule | None

    def accept(self, schedule: ModuloSchedule, found_by: str) -> None:
        """Accepts a checked schedule."""
        ...


class Builder:
    """Constructive searches of one solve, each with a new seed."""

    def __init__(self, run: SearchRun, problem: ModuloProblem) -> None:
        self._run, self._problem = run, problem
        self._tried: dict[int, int] = {}
        self._share = LEAST_WORK + joint_size(problem) // CONSTRAINTS_A_WORK

    def at(self, known: _Known, interval: int, *, part: int = AT_BOUND) -> bool:
        """Searches one interval; every further call there has a new seed and twice the work."""
        run, times = self._run, self._tried.get(interval, 0)
        if run.over():
            return False
        began = time.monotonic()
        limit = max(min(self._share << times, run.budget.work_limit // part, run.left), 1)
        self._tried[interval] = times + 1
        schedule, work = construct(
            self._problem, interval, limit=limit, seed=run.budget.seed * 64 + times, ends_at=run.ends_at
        )
        run.note(interval, interval, "feasible" if schedule else "unknown", work, began, CONSTRUCTIVE)
        if schedule is not None:
            known.accept(checked(self._problem, schedule), CONSTRUCTIVE)
        return schedule is not None

    def descend(self, known: _Known, high: int) -> None:
        """Some schedule above the bound, then shorter ones: halves the distance to the bound while that works.

        Long intervals are easy, so the first is twice the bound; it doubles until one works.
        """
        low, interval = known.bound.cycles, known.bound.cycles
        while known.schedule is None and interval < high and not self._run.over():
            interval = min(2 * interval, high)
            self.at(known, interval)
        low -= 1
        while known.schedule is not None and not self._run.over():
            best = known.schedule.interval
            if best - low <= max(best // NEAR, 1):
                return
            middle = (low + best) // 2
            if not self.at(known, middle, part=DESCENDING):
                low = middle
