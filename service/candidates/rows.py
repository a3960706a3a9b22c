"""Candidate records (``warpwright.tuning``) to rows and back. Numbers that JSON does not have become null, with a reason."""

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from pydantic import JsonValue

from warpwright.service.db.models import Candidate
from warpwright.solver.domain import Certificate, Fingerprint, Schedule, dump, load
from warpwright.tuning.result import CandidateKind, CandidateRecord, Failure, Outcome, Product

__all__ = ["apply", "fingerprint_columns", "finite", "record_of"]


def apply(row: Candidate, record: CandidateRecord) -> None:
    """Write a record's contents into a row; the caller sets identity columns and number."""
    row.variant = record.variant
    row.kind = record.kind.value
    row.outcome = record.outcome.value
    row.status = record.status
    row.forecast_ns = _time(record.forecast_ns)
    row.measured_ns = _time(record.measured_ns)
    row.schedule = dump(record.schedule) if record.schedule is not None else None
    row.certificate = dump(record.certificate) if record.certificate is not None else None
    row.structure = dict(record.structure)
    row.measurement = finite(record.measurement)
    row.report = finite(record.report)
    row.not_honoured = list(record.not_honoured)
    row.failure = _failure(record)
    row.seconds = {step: round(seconds, 4) for step, seconds in record.seconds.items()}


def record_of(row: Candidate, products: tuple[Product, ...] = ()) -> CandidateRecord:
    """The record of a row."""
    return CandidateRecord(
        id=row.key,
        variant=row.variant,
        kind=CandidateKind(row.kind),
        outcome=Outcome(row.outcome),
        schedule=load(Schedule, row.schedule) if row.schedule else None,
        certificate=load(Certificate, row.certificate) if row.certificate else None,
        status=row.status,
        structure=row.structure,
        forecast_ns=row.forecast_ns,
        measured_ns=row.measured_ns,
        measurement=row.measurement,
        report=row.report,
        not_honoured=tuple(row.not_honoured),
        failure=Failure(**row.failure) if row.failure else None,
        products=products,
        seconds=row.seconds,
    )


def fingerprint_columns(row: Candidate) -> Fingerprint:
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


def finite(values: Mapping[str, JsonValue]) -> dict[str, Any]:
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


def _failure(record: CandidateRecord) -> dict[str, Any] | None:
    if record.failure is not None:
        return asdict(record.failure)
    if record.measured_ns is not None and _time(record.measured_ns) is None:
        return asdict(Failure("time-not-finite", f"the measured time was {record.measured_ns}"))
    return None
