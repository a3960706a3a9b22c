"""A schedule with the problem that it answers: what the families judge."""

from dataclasses import dataclass

from warpwright.solver.modulo.problem import ModuloProblem, ModuloSchedule

__all__ = ["ModuloReading"]


@dataclass(frozen=True, slots=True)
class ModuloReading:
    """A finished schedule read against its problem."""

    problem: ModuloProblem
    schedule: ModuloSchedule
