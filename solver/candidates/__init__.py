"""Structurally different schedules for a kernel or a family of variants, ranked by the simulator's forecast."""

from warpwright.solver.candidates.propose import Variant, propose, propose_family
from warpwright.solver.candidates.result import Baseline, Candidate, Proposals, Rejected

__all__ = ["Baseline", "Candidate", "Proposals", "Rejected", "Variant", "propose", "propose_family"]
