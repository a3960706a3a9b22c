"""The order of candidates that have no measured time."""

from math import inf

from warpwright.solver.domain.candidate import Candidate
from warpwright.solver.domain.documents import dumps

__all__ = ["place_of"]


def place_of(candidate: Candidate) -> tuple[float, int, str, str]:
    """Sort key of candidates that are not measured: by forecast, those without one last; equal ones by variant and structure. An
    identity never decides.
    """
    cost = candidate.forecast if candidate.forecast is not None else inf
    structure = " ".join(f"{name}={value}" for name, value in sorted(candidate.structure.items()))
    text = dumps(candidate.schedule) if candidate.schedule is not None else ""
    return cost, candidate.variant, structure, text
