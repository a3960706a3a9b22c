"""The rule families of Ascend scheduler calls: one module per rule (:class:`warpwright.solver.domain.family.RuleFamily`).

A model is a :class:`Network`, which feeds the exact search and, translated, CP-SAT and Z3, so that all engines see the same
feasible set; an answer is a :class:`CallReading`. ``event_flags`` never refuses, so it is not a family: it gives notes.
"""

from warpwright.solver.ascend.answer import SchedulerAnswer
from warpwright.solver.ascend.encoding import Network
from warpwright.solver.ascend.families import (
    capacity,
    dependences,
    manual_stages,
    offset_window,
    owner_exclusion,
    pipe_exclusion,
    stage_order,
    versions,
)
from warpwright.solver.ascend.problem import Problem
from warpwright.solver.ascend.schedule_reader import CallReading
from warpwright.solver.domain import Violation
from warpwright.solver.domain.family import RuleFamily

__all__ = ["FAMILIES", "CallFamily", "build_network", "check_answer"]


CallFamily = RuleFamily[Problem, Network, CallReading]

FAMILIES: tuple[CallFamily, ...] = (
    dependences,
    versions,
    pipe_exclusion,
    owner_exclusion,
    offset_window,
    stage_order,
    manual_stages,
    capacity,
)


def build_network(problem: Problem) -> Network:
    """The network of a problem: every family's constraints."""
    network = Network(problem)
    for family in FAMILIES:
        family.build(network)
    return network


def check_answer(problem: Problem, answer: SchedulerAnswer) -> list[Violation]:
    """Every broken rule of an answer, family by family."""
    if len(answer.starts) != problem.tasks:
        message = f"{len(answer.starts)} start times for {problem.tasks} tasks"
        return [Violation("shape", "one-start-a-task", message)]
    if any(start < 0 for start in answer.starts):
        return [Violation("shape", "start-not-negative", f"earliest start is {min(answer.starts)}")]
    reading = CallReading(problem, answer)
    return [violation for family in FAMILIES for violation in family.check(reading)]
