"""Structurally different schedules for a kernel or a kernel family, ranked by the simulator's forecast."""

from warpwright.solver.candidates.propose import Variant, propose, propose_family

__all__ = ["Variant", "propose", "propose_family"]
