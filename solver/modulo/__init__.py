"""Generic modulo problems: joint software pipelining and warp specialisation for graphs that come from no kernel."""

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
    "solve",
    "verify",
]
