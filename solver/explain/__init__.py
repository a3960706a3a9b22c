"""Explanations: why a choice is impossible and what would make it possible; which resources limit a whole kernel."""

from warpwright.solver.domain.explanation import Explanation, Relaxation
from warpwright.solver.explain.answer import explain, explain_problem
from warpwright.solver.explain.question import Question, parse

__all__ = ["Explanation", "Question", "Relaxation", "explain", "explain_problem", "parse"]
