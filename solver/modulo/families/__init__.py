"""The rule families of generic modulo problems: one module per rule (:class:`warpwright.solver.domain.family.RuleFamily`).

A model is an :class:`ModuloEncoding`, an answer a :class:`ModuloReading` of a finished schedule.
"""

from warpwright.solver.domain.family import RuleFamily
from warpwright.solver.modulo.encoding import ModuloEncoding
from warpwright.solver.modulo.families import dependence, memory, placement, registers, units, waits
from warpwright.solver.modulo.problem import ModuloProblem
from warpwright.solver.modulo.schedule_reader import ModuloReading

__all__ = ["FAMILIES", "ModuloFamily"]

ModuloFamily = RuleFamily[ModuloProblem, ModuloEncoding, ModuloReading]

FAMILIES: tuple[ModuloFamily, ...] = (dependence, placement, units, memory, registers, waits)
