"""Rule families of generic modulo problems: each module has ``FAMILY``, ``build``, ``check`` and ``explain``."""

from warpwright.solver.modulo.families import dependence, memory, placement, registers, units, waits

__all__ = ["FAMILIES", "dependence", "memory", "placement", "registers", "units", "waits"]

FAMILIES = (dependence, placement, units, memory, registers, waits)
