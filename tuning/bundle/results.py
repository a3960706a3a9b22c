"""Results of a bundle: one JSON document, bound to the bundle by its digest, and checked before use."""

import json
from dataclasses import asdict, dataclass
from typing import Any

from warpwright.lowering.measure.result import Measured, Rounds, from_document, to_document
from warpwright.lowering.measure.statistics import Verdict
from warpwright.tuning.bundle.archive import BundleError
from warpwright.tuning.bundle.contents import Contents
from warpwright.tuning.measure.session import MeasureReport

__all__ = ["BundleResults", "read_results", "write_results"]

SCHEMA = "warpwright.bundle-results/1"

LIMIT_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class BundleResults:
    """Measured results: the bundle's digest and origin, and the session's report."""

    bundle: str
    origin: str
    protocol: str
    report: MeasureReport


def write_results(contents: Contents, report: MeasureReport) -> str:
    """The document of a session over a bundle."""
    document = {
        "schema": SCHEMA,
        "bundle": contents.digest(),
        "origin": contents.origin,
        "protocol": contents.protocol.name,
        "results": [to_document(result) for result in report.results],
        "rounds": to_document(report.rounds) if report.rounds is not None else None,
        "screening": to_document(report.screening) if report.screening is not None else None,
        "verdict": asdict(report.verdict) if report.verdict is not None else None,
        "facts": report.facts,
        "partial": report.partial,
        "session": report.session,
    }
    return json.dumps(document, indent=1, allow_nan=False)


def read_results(text: str | bytes, *, bundle: str | None = None) -> BundleResults:
    """The results in a document.

    Args:
        text: JSON text of :func:`write_results`.
        bundle: digest of the bundle that was sent out; results of another one are refused.

    Raises:
        BundleError: ``results-invalid`` or ``results-of-another-bundle``.
    """
    if len(text) > LIMIT_BYTES:
        raise BundleError(f"{len(text)} bytes of results", code="results-invalid")
    try:
        document = json.loads(text)
        if document["schema"] != SCHEMA:
            raise BundleError(f"expected schema {SCHEMA!r}", code="results-invalid", place="/schema")
        results = BundleResults(
            bundle=str(document["bundle"]),
            origin=str(document["origin"]),
            protocol=str(document["protocol"]),
            report=_report(document),
        )
    except KeyError as error:
        raise BundleError(f"not a results document: {error} is missing", code="results-invalid") from error
    except (ValueError, RecursionError, TypeError, AttributeError) as error:
        message = f"not a results document: {type(error).__name__}: {str(error)[:300]}"
        raise BundleError(message, code="results-invalid") from error
    if bundle is not None and results.bundle != bundle:
        raise BundleError("these results belong to another bundle", code="results-of-another-bundle", place="/bundle")
    return results


def _report(document: dict[str, Any]) -> MeasureReport:
    results = []
    for entry in document["results"]:
        result = from_document(entry)
        if not isinstance(result, Measured) or result.protocol != document["protocol"]:
            raise ValueError("a result of another protocol")
        results.append(result)
    rounds, screening = _rounds(document["rounds"]), _rounds(document["screening"])
    verdict = _verdict(document["verdict"], {result.candidate for result in results if result.eligible})
    return MeasureReport(
        tuple(results),
        rounds,
        screening,
        verdict,
        document["facts"],
        bool(document["partial"]),
        str(document.get("session", "")),
    )


def _rounds(document: dict[str, Any] | None) -> Rounds | None:
    rounds = from_document(document) if document is not None else None
    if rounds is not None and not isinstance(rounds, Rounds):
        raise ValueError("rounds of another kind")
    return rounds


def _verdict(document: dict[str, Any] | None, eligible: set[str]) -> Verdict | None:
    """The verdict; refuses a winner that was not measured or may not win."""
    if document is None:
        return None
    verdict = Verdict(
        order=tuple(document["order"]),
        tied=tuple(document["tied"]),
        winner=str(document["winner"]),
        margin=None if document["margin"] is None else float(document["margin"]),
    )
    if verdict.winner not in eligible:
        raise ValueError(f"the winner {verdict.winner!r} has no time that may win")
    return verdict
