"""Who takes part in the interleaved rounds of a measuring session, and how their ties are broken."""

from collections.abc import Sequence
from typing import TypedDict

from warpwright.solver.domain import Candidate, CandidateKind
from warpwright.tuning.ranking import fixed_order

__all__ = ["Seats", "seats_of"]


class Seats(TypedDict):
    """Who takes part in a session's rounds in any case, and how ties are decided: arguments of ``measure_all``."""

    preference: list[str]
    always_final: list[str]
    baselines: list[str]


def seats_of(candidates: Sequence[Candidate]) -> Seats:
    """The compiler's own choices take part in the rounds, and all tie in the fixed order of the ranking."""
    baselines = [candidate.id for candidate in candidates if candidate.kind is not CandidateKind.SCHEDULED]
    preference = [candidate.id for candidate in fixed_order(candidates)]
    return {"preference": preference, "always_final": baselines, "baselines": baselines}
