"""Results in words for the command line: a candidate's description and times, in addition to the service's sentences."""

from warpwright.service.candidates.sentences import (
    agreement,
    basis_line,
    by_reason,
    proof_line,
    proposed_line,
    registers_of,
    structure_words,
)
from warpwright.solver.domain import Candidate

__all__ = [
    "agreement",
    "basis_line",
    "by_reason",
    "describe",
    "forecast_words",
    "microseconds",
    "proof_line",
    "proposed_line",
    "registers_of",
    "structure_words",
]


def describe(candidate: Candidate) -> str:
    """A candidate in a few words: its kind, the variant's parameters, its structure."""
    head = " ".join(
        [candidate.kind.replace("_", "-"), *(f"{name}={value}" for name, value in candidate.params.items())]
    )
    return head + (f"; {structure_words(candidate.structure)}" if candidate.structure else "")


def forecast_words(candidate: Candidate) -> str:
    """The forecast in microseconds, or in cycles with a word if it is proven; a dash without one."""
    if candidate.forecast_cycles is None:
        return microseconds(candidate.forecast_ns)
    return f"{candidate.forecast_cycles:,}" + (" proven" if candidate.status == "proven_optimal" else "")


def microseconds(nanoseconds: float | None) -> str:
    """A time in microseconds, or a dash."""
    return "-" if nanoseconds is None else f"{nanoseconds / 1000:.1f}"
