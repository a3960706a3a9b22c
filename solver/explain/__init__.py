"""Explanations: why a choice is impossible and what would make it possible; what binds a whole kernel."""

from solver.explain.answer import Explanation, explain, explain_problem
from solver.explain.question import Question, parse
from solver.explain.relaxations import Relaxation

__all__ = ["Explanation", "Question", "Relaxation", "explain", "explain_problem", "parse"]
