"""Rule families of Ascend scheduling problems.

Every family is a module with the same functions:

``build(problem, network)``
    adds its constraints to a :class:`warpwright.solver.ascend.network.Network`; one network feeds the exact search and,
    translated,
    CP-SAT and Z3, so that all engines see the same feasible set;
``check(problem, answer)``
    checks a finished answer in plain arithmetic on start times, without the network; the verifier runs it;
``explain(problem)``
    says with numbers what the family requires of this problem, for a person.
"""

from typing import Protocol

from warpwright.solver.ascend.answer import Answer
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
from warpwright.solver.ascend.network import Network
from warpwright.solver.ascend.problem import Problem
from warpwright.solver.domain import Violation

__all__ = ["FAMILIES", "Family", "build_network", "check_answer"]


class Family(Protocol):
    """The functions of a family module."""

    NAME: str

    def build(self, problem: Problem, network: Network) -> None:
        """Add the family's constraints."""

    def check(self, problem: Problem, answer: Answer) -> list[Violation]:
        """Broken rules of a finished answer."""

    def explain(self, problem: Problem) -> list[str]:
        """What the family requires here, in numbers."""


FAMILIES: tuple[Family, ...] = (
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
    network = Network(list(problem.latencies))
    for family in FAMILIES:
        family.build(problem, network)
    return network


def check_answer(problem: Problem, answer: Answer) -> list[Violation]:
    """Every broken rule of an answer, family by family."""
    if len(answer.starts) != problem.tasks:
        message = f"{len(answer.starts)} start times for {problem.tasks} tasks"
        return [Violation("shape", "one-start-a-task", message)]
    if any(start < 0 for start in answer.starts):
        return [Violation("shape", "start-not-negative", f"earliest start is {min(answer.starts)}")]
    return [violation for family in FAMILIES for violation in family.check(problem, answer)]
