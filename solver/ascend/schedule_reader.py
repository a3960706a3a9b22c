"""An answer to a scheduler call with the call's problem: what the families judge."""

from dataclasses import dataclass

from warpwright.solver.ascend.answer import SchedulerAnswer
from warpwright.solver.ascend.problem import Problem

__all__ = ["CallReading"]


@dataclass(frozen=True, slots=True)
class CallReading:
    """A finished answer read against its problem."""

    problem: Problem
    answer: SchedulerAnswer
