"""The result of a tuning as its user sees it: the winner, every candidate, and the reason for what is missing."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from warpwright.solver.domain import Candidate, Failure, RejectedStructure, dump

__all__ = ["Result", "candidate_document"]

SCHEMA = "warpwright.tune-result/1"


@dataclass(frozen=True, slots=True, repr=False)
class Result:
    """The answer of a tuning. ``best`` is the fastest measured candidate, or the best forecast among the built ones."""

    kernel: str
    profile: str
    ending: str
    best: Candidate | None
    candidates: tuple[Candidate, ...]
    rejected: tuple[RejectedStructure, ...] = ()
    refused_variants: Mapping[int, Failure] = field(default_factory=dict)
    note: str = ""
    partial: bool = False
    stopped_by: str = ""
    job: str = ""
    tied: tuple[str, ...] = ()
    """Ids of the candidates of which none is better than another, the winner's among them."""
    margin: float | None = None
    """The winner's relative lead over the best candidate that does not tie; None if there is none."""
    build_options: tuple[str, ...] = ()
    """Options of all its builds that change how kernels round."""
    answer: str = ""
    """The answer in one sentence; empty from a server that does not say it."""
    answer_parts: tuple[Mapping[str, Any], ...] = ()
    """The sentence's parts: ``name``, ``text``, and ``known``, which is false where something is missing."""

    def __repr__(self) -> str:
        """The answer in one line; candidates and their bytes would be thousands."""
        said = self.answer or f"{self.ending}, {self.note}"
        return f"<Result of {self.kernel} on {self.profile}: {said}; {len(self.candidates)} candidates>"

    def to_json(self) -> dict[str, Any]:
        """The document that ``--json`` prints."""
        return {
            "schema": SCHEMA,
            "kernel": self.kernel,
            "profile": self.profile,
            "ending": self.ending,
            "note": self.note,
            "answer": self.answer,
            "answer_parts": [dict(part) for part in self.answer_parts],
            "partial": self.partial,
            "stopped_by": self.stopped_by,
            "job": self.job,
            "build_options": list(self.build_options),
            "best": self.best.id if self.best else None,
            "tied": list(self.tied),
            "margin": self.margin,
            "candidates": [candidate_document(candidate) for candidate in self.candidates],
            "rejected": [asdict(entry) for entry in self.rejected],
            "refused_variants": {str(number): asdict(entry) for number, entry in self.refused_variants.items()},
        }


def candidate_document(candidate: Candidate) -> dict[str, Any]:
    """The candidate's document; its products by name and size only."""
    return {**dump(candidate), "products": {name: len(data) for name, data in candidate.products.items()}}
