"""Generic modulo problems: joint software pipelining and warp specialisation for graphs that come from no kernel."""

from solver.modulo.answer import answer_document, solve_file
from solver.modulo.document import parse_problem, problem_document, read_problem
from solver.modulo.problem import Edge, Group, Memory, ModuloProblem, ModuloSchedule, Op, Unit, Use, Wait
from solver.modulo.solve import ModuloAnswer, solve
from solver.modulo.verify import verify

__all__ = [
    "Edge",
    "Group",
    "Memory",
    "ModuloAnswer",
    "ModuloProblem",
    "ModuloSchedule",
    "Op",
    "Unit",
    "Use",
    "Wait",
    "answer_document",
    "parse_problem",
    "problem_document",
    "read_problem",
    "solve",
    "solve_file",
    "verify",
]
