"""Candidates to rows and back. Numbers that JSON does not have become null, with a reason."""

import math
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from warpwright.service.db.models import CandidateRow
from warpwright.solver.domain import (
    Candidate,
    CandidateKind,
    Certificate,
    Failure,
    Fingerprint,
    Outcome,
    Schedule,
    dump,
    load,
)

__all__ = ["apply", "candidate_of", "evidence_of", "fingerprint_columns", "finite"]


def apply(row: CandidateRow, candidate: Candidate) -> None:
    """Write a candidate into a row; the caller sets identity columns and number; parameters are in the variant's row."""
    row.variant = candidate.variant
    row.kind = candidate.kind.value
    row.outcome = candidate.outcome.value
    row.status = candidate.status
    row.forecast_ns = _time(candidate.forecast_ns)
    row.forecast_cycles = candidate.forecast_cycles
    row.measured_ns = _time(candidate.measured_ns)
    row.schedule = dump(candidate.schedule) if candidate.schedule is not None else None
    row.certificate = dump(candidate.certificate) if candidate.certificate is not None else None
    row.structure = dict(candidate.structure)
    row.measurement = finite(candidate.measurement)
    row.report = finite(candidate.report)
    row.not_honoured = list(candidate.not_honoured)
    row.failure = _failure(candidate)
    row.seconds = {step: round(seconds, 4) for step, seconds in candidate.seconds.items()}


def candidate_of(
    row: CandidateRow, *, params: Mapping[str, object] | None = None, products: Mapping[str, bytes] | None = None
) -> Candidate:
    """The candidate of a row. ``params`` are its variant's, ``products`` those that the caller has read."""
    return replace(
        evidence_of(row),
        params=params or {},
        schedule=load(Schedule, row.schedule) if row.schedule else None,
        certificate=load(Certificate, row.certificate) if row.certificate else None,
        seconds=row.seconds,
        products=products or {},
    )


def evidence_of(row: CandidateRow) -> Candidate:
    """The candidate of a row as far as a ranking and a sentence need it: without schedule, certificate, parameters, products."""
    return Candidate(
        id=row.key,
        variant=row.variant,
        kind=CandidateKind(row.kind),
        outcome=Outcome(row.outcome),
        status=row.status,
        structure={name: str(value) for name, value in row.structure.items()},
        forecast_ns=row.forecast_ns,
        forecast_cycles=row.forecast_cycles,
        measured_ns=row.measured_ns,
        measurement=row.measurement,
        report=row.report,
        not_honoured=tuple(row.not_honoured),
        failure=Failure(**row.failure) if row.failure else None,
    )


def fingerprint_columns(row: CandidateRow) -> Fingerprint:
    """The identity of a row."""
    return Fingerprint(
        ir=row.ir_hash,
        profile=row.profile,
        toolchain=row.toolchain,
        constraint_set=row.constraint_set,
        protocol=row.protocol,
        verification=row.verification,
        pins=row.pins,
        build_options=row.build_options,
    )


def finite(values: Mapping[str, object]) -> dict[str, Any]:
    """A copy in which every NaN and infinity is null, and ``not_finite`` names their keys."""
    lost: list[str] = []
    copy = {key: _finite(value, key, lost) for key, value in values.items()}
    if lost:
        copy["not_finite"] = lost
    return copy


def _finite(value: Any, place: str, lost: list[str]) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        lost.append(place)
        return None
    if isinstance(value, dict):
        return {key: _finite(item, f"{place}.{key}", lost) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item, f"{place}[{number}]", lost) for number, item in enumerate(value)]
    return value


def _time(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) and value >= 0 else None


def _failure(candidate: Candidate) -> dict[str, Any] | None:
    if candidate.failure is not None:
        return asdict(candidate.failure)
    if candidate.measured_ns is not None and _time(candidate.measured_ns) is None:
        return asdict(Failure("time-not-finite", f"the measured time was {candidate.measured_ns}"))
    return None
