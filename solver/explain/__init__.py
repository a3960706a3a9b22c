"""Explanations: why a choice is impossible and what would make it possible; what binds a whole kernel."""

from warpwright.solver.explain.answer import Explanation, explain, explain_problem
from warpwright.solver.explain.question import Question, parse
from warpwright.solver.explain.relaxations import Relaxation

__all__ = ["Explanation", "Question", "Relaxation", "explain", "explain_problem", "parse"]
