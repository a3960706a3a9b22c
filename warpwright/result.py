"""The result of a tuning as its user sees it: the winner, every candidate, and the reason for what is missing."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import JsonValue

from warpwright.solver.domain import Certificate, Schedule, documents

__all__ = ["Candidate", "Failure", "Rejected", "Result"]

SCHEMA = "warpwright.tune-result/1"


@dataclass(frozen=True, slots=True)
class Failure:
    """Why something failed: a stable code, a message, the place, and the end of a log."""

    code: str
    message: str
    place: str | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One candidate and its outcome. Times are nanoseconds of one launch; a forecast is never a measurement."""

    id: str
    kind: str
    """``scheduled``, or the compiler's own choice: ``default``, ``role_based``, ``unspecialized``."""
    outcome: str
    variant: int
    params: Mapping[str, JsonValue]
    status: str = ""
    """``proven_optimal`` or ``feasible`` for scheduled candidates."""
    schedule: Schedule | None = None
    certificate: Certificate | None = None
    structure: Mapping[str, str] = field(default_factory=dict)
    forecast_ns: float | None = None
    measured_ns: float | None = None
    measurement: Mapping[str, JsonValue] = field(default_factory=dict)
    """Spread, clocks, checks (``sizes``: at other sizes), device and protocol, as the measuring session reported them."""
    report: Mapping[str, JsonValue] = field(default_factory=dict)
    not_honoured: tuple[str, ...] = ()
    failure: Failure | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)
    products: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    """Its products by name: ``tilelang_source``, ``cuda_source``, ``binary``, ..."""

    @property
    def source(self) -> str:
        """The TileLang source to paste; empty if the candidate has none (a baseline needs none)."""
        return self.products.get("tilelang_source", b"").decode()

    def to_json(self) -> dict[str, Any]:
        """JSON-ready values; products by name and size only."""
        return {
            "id": self.id,
            "kind": self.kind,
            "outcome": self.outcome,
            "variant": self.variant,
            "params": dict(self.params),
            "status": self.status,
            "forecast_ns": self.forecast_ns,
            "measured_ns": self.measured_ns,
            "measurement": dict(self.measurement),
            "structure": dict(self.structure),
            "schedule": documents.dump(self.schedule) if self.schedule is not None else None,
            "certificate": documents.dump(self.certificate) if self.certificate is not None else None,
            "report": dict(self.report),
            "not_honoured": list(self.not_honoured),
            "failure": _failure(self.failure),
            "seconds": dict(self.seconds),
            "products": {name: len(data) for name, data in self.products.items()},
        }


@dataclass(frozen=True, slots=True)
class Rejected:
    """A structure that was proven impossible, with the conflicting families and their numbers."""

    variant: int
    structure: Mapping[str, str]
    conflicts: tuple[tuple[str, str, str], ...]
    """Family, message, and the smallest change that helps (may be empty)."""


@dataclass(frozen=True, slots=True)
class Result:
    """The answer of a tuning. ``best`` is the fastest measured candidate, or the best forecast among the built ones."""

    kernel: str
    profile: str
    ending: str
    best: Candidate | None
    candidates: tuple[Candidate, ...]
    rejected: tuple[Rejected, ...] = ()
    refused_variants: Mapping[int, Failure] = field(default_factory=dict)
    note: str = ""
    partial: bool = False
    stopped_by: str = ""
    job: str = ""
    build_options: tuple[str, ...] = ()
    """Options of all its builds that change how kernels round."""

    def to_json(self) -> dict[str, Any]:
        """The document that ``--json`` prints."""
        return {
            "schema": SCHEMA,
            "kernel": self.kernel,
            "profile": self.profile,
            "ending": self.ending,
            "note": self.note,
            "partial": self.partial,
            "stopped_by": self.stopped_by,
            "job": self.job,
            "build_options": list(self.build_options),
            "best": self.best.id if self.best else None,
            "candidates": [candidate.to_json() for candidate in self.candidates],
            "rejected": [
                {
                    "variant": entry.variant,
                    "structure": dict(entry.structure),
                    "conflicts": [
                        {"family": family, "message": message, "relaxation": relaxation}
                        for family, message, relaxation in entry.conflicts
                    ],
                }
                for entry in self.rejected
            ],
            "refused_variants": {str(number): _failure(entry) for number, entry in self.refused_variants.items()},
        }


def _failure(failure: Failure | None) -> dict[str, Any] | None:
    if failure is None:
        return None
    return {"code": failure.code, "message": failure.message, "place": failure.place, "detail": failure.detail}
