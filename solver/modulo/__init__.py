"""Generic modulo problems: joint software pipelining and warp specialisation for graphs that do not come from a kernel."""

from warpwright.solver.modulo.answer import answer_document, solve_file
from warpwright.solver.modulo.document import parse_problem, problem_document, read_problem
from warpwright.solver.modulo.problem import (
    Group,
    ModuloEdge,
    ModuloMemory,
    ModuloOp,
    ModuloProblem,
    ModuloSchedule,
    ModuloUnit,
    ModuloWait,
    Use,
)
from warpwright.solver.modulo.solve import ModuloAnswer, solve
from warpwright.solver.modulo.verify import verify

__all__ = [
    "Group",
    "ModuloAnswer",
    "ModuloEdge",
    "ModuloMemory",
    "ModuloOp",
    "ModuloProblem",
    "ModuloSchedule",
    "ModuloUnit",
    "ModuloWait",
    "Use",
    "answer_document",
    "parse_problem",
    "problem_document",
    "read_problem",
    "solve",
    "solve_file",
    "verify",
]
