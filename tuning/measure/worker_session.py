"""The task of a measuring session on a worker: the same session as on the service's own devices. Runs in a child.

Each candidate's own result is an event, sent at once; the reply holds the interleaved rounds and the verdict, which
take precedence. The device itself is opened in a child of this one, so that a kernel that breaks it costs that child only.
"""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from warpwright.lowering.emit import emit
from warpwright.lowering.measure.result import Measured, Rounds, from_document, to_document
from warpwright.solver.domain import Candidate, Outcome, dump, load
from warpwright.tuning.measure.devices import jobs_of
from warpwright.tuning.measure.session import MeasureReport, measure_all
from warpwright.tuning.toolchain import Built, BuiltSize, Contestant

__all__ = ["measure_session", "measured_from", "report_from", "session_inputs", "session_payload"]


def session_payload(profile: str, candidates: Sequence[Contestant], budget_seconds: float) -> dict[str, Any]:
    """The payload of ``measure.session``; the binaries travel separately (:func:`session_inputs`)."""
    return {
        "profile": profile,
        "budget_seconds": budget_seconds,
        "candidates": [
            {
                "candidate": dump(each.candidate),
                "floor_ns": each.floor_ns,
                "sizes": [
                    {
                        "name": size.name,
                        "candidate": dict(size.candidate.report),
                        "reference": dict(size.reference.report),
                    }
                    for size in each.sizes
                ],
            }
            for each in candidates
        ],
    }


def session_inputs(candidates: Sequence[Contestant]) -> dict[str, bytes]:
    """The binaries of a session by file name: the candidates', and theirs and the references' at other sizes."""
    files: dict[str, bytes | None] = {}
    for each in candidates:
        name = each.candidate.id
        files[name] = each.candidate.products.get("binary")
        for number, size in enumerate(each.sizes):
            files[f"{name}.{number}.candidate"] = size.candidate.products.get("binary")
            files[f"{name}.{number}.reference"] = size.reference.products.get("binary")
    return {name: data for name, data in files.items() if data is not None}


def measure_session(payload: dict[str, Any]) -> dict[str, Any]:
    """Task ``measure.session``. Keys: those of :func:`session_payload`, ``input`` (folder), ``device`` (the worker's own)."""
    candidates = [_contestant(entry, Path(payload["input"])) for entry in payload["candidates"]]
    jobs, seats = jobs_of(candidates, Path(payload["input"]))
    report = measure_all(
        jobs,
        payload["device"],
        **seats,
        budget_seconds=float(payload["budget_seconds"]),
        on_result=lambda measured: emit({"measured": to_document(measured)}),
        trace=os.environ.get("WARPWRIGHT_TRACE", ""),
    )
    outcomes = [result.outcome for result in report.results]
    lost = any(found.kind is Outcome.DEVICE_LOST and "canary" in found.details for found in outcomes)
    return {
        "results": [to_document(result) for result in report.results],
        "rounds": to_document(report.rounds) if report.rounds is not None else None,
        "partial": report.partial,
        "session": report.session,
        "device_lost": lost,
    }


def measured_from(document: dict[str, Any]) -> Measured:
    """A result in an event or a reply.

    Raises:
        ValueError: it is not a result.
    """
    found = from_document(document)
    if not isinstance(found, Measured):
        raise ValueError("not a measurement")
    return found


def report_from(value: dict[str, Any]) -> MeasureReport:
    """A session's report as it left :func:`measure_session`.

    Raises:
        ValueError, KeyError, TypeError: it is not a report.
    """
    rounds = from_document(value["rounds"]) if value["rounds"] is not None else None
    if rounds is not None and not isinstance(rounds, Rounds):
        raise ValueError("not rounds")
    results = tuple(measured_from(document) for document in value["results"])
    return MeasureReport(results, rounds, partial=bool(value["partial"]), session=str(value["session"]))


def _contestant(entry: dict[str, Any], folder: Path) -> Contestant:
    candidate: Candidate = load(Candidate, entry["candidate"])
    sizes = tuple(
        BuiltSize(
            size["name"],
            Built(size["candidate"], (), _binary(folder / f"{candidate.id}.{number}.candidate")),
            Built(size["reference"], (), _binary(folder / f"{candidate.id}.{number}.reference")),
        )
        for number, size in enumerate(entry["sizes"])
    )
    with_binary = replace(candidate, products=_binary(folder / candidate.id))
    return Contestant(with_binary, float(entry["floor_ns"]), sizes)


def _binary(path: Path) -> dict[str, bytes]:
    return {"binary": path.read_bytes()} if path.exists() else {}
