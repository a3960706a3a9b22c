"""The protocol of a rule family: the same for warp, modulo and Ascend problems.

A family is one rule of the hardware or the compiler, written as a module. It has three functions that must agree: what ``build``
forbids is what ``check`` refuses, and ``explain`` gives the numbers of both (docs/decisions/0012 and 0171). What a family writes
into (a model) and what it judges (an answer) carry their problem with them.
"""

from typing import Protocol, TypeVar

from warpwright.solver.domain.fact import Fact
from warpwright.solver.domain.verdict import Violation

__all__ = ["RuleFamily"]

ProblemT = TypeVar("ProblemT", contravariant=True)
ModelT = TypeVar("ModelT", contravariant=True)
AnswerT = TypeVar("AnswerT", contravariant=True)


class RuleFamily(Protocol[ProblemT, ModelT, AnswerT]):
    """One rule with its three functions."""

    NAME: str
    """The family's name: the label of its constraints, and its name in violations and conflicts."""

    def build(self, model: ModelT, /) -> None:
        """Writes the rule into a model of a problem."""
        ...

    def check(self, answer: AnswerT, /) -> tuple[Violation, ...]:
        """Broken rules of a finished answer, in plain Python and without any engine; empty when it keeps the rule."""
        ...

    def explain(self, problem: ProblemT, answer: AnswerT | None, /) -> tuple[Fact, ...]:
        """The rule's numbers: of an answer, or of the problem alone when there is none."""
        ...
