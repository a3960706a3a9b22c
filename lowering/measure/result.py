"""The results of a measurement, as JSON documents."""

from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter

from warpwright.lowering.measure.check import CheckReport
from warpwright.lowering.measure.device import Conditions, DeviceFacts
from warpwright.lowering.measure.statistics import Summary
from warpwright.lowering.outcome import StepOutcome

__all__ = ["Measured", "Rounds", "from_document", "to_document"]

SCHEMAS = {"Measured": "warpwright.measurement/1", "Rounds": "warpwright.rounds/1"}


@dataclass(frozen=True, slots=True)
class Measured:
    """One candidate on one device. ``summary`` only if it was timed; ``flags`` say why a time may not win.

    Flags: ``contended`` (other processes were seen, or could not be excluded by the device), ``implausible`` (below the
    roofline, after a second look), ``noisy`` (spread above the protocol's limit when its budget ended), ``yardstick`` (a
    library call that computes something else).
    """

    candidate: str
    protocol: str
    outcome: StepOutcome
    device: DeviceFacts | None = None
    summary: Summary | None = None
    checks: tuple[CheckReport, ...] = ()
    flags: tuple[str, ...] = ()
    before: Conditions | None = None
    after: Conditions | None = None
    waves: float | None = None
    binary_digest: str = ""
    seconds: float = 0.0

    @property
    def eligible(self) -> bool:
        """Whether this time may win."""
        return self.summary is not None and not {"contended", "implausible", "yardstick"} & set(self.flags)


@dataclass(frozen=True, slots=True)
class Rounds:
    """Interleaved rounds of finalists: one median per round and candidate, all in the same order of rounds."""

    protocol: str
    figures_ns: dict[str, tuple[float, ...]]
    before: Conditions | None = None
    after: Conditions | None = None
    contended: bool = False
    wrong: dict[str, str] | None = None
    """Finalists whose outputs were wrong after the rounds, with the error."""


_MEASURED: TypeAdapter[Measured] = TypeAdapter(Measured)
_ROUNDS: TypeAdapter[Rounds] = TypeAdapter(Rounds)


def to_document(value: Measured | Rounds) -> dict[str, Any]:
    """As JSON-ready values, ``schema`` first."""
    adapter: TypeAdapter[Any] = _MEASURED if isinstance(value, Measured) else _ROUNDS
    return {"schema": SCHEMAS[type(value).__name__], **adapter.dump_python(value, mode="json")}


def from_document(document: dict[str, Any]) -> Measured | Rounds:
    """From :func:`to_document`; ``ValueError`` for another schema or shape."""
    body = {key: value for key, value in document.items() if key != "schema"}
    if document.get("schema") == SCHEMAS["Measured"]:
        return _MEASURED.validate_python(body)
    if document.get("schema") == SCHEMAS["Rounds"]:
        return _ROUNDS.validate_python(body)
    raise ValueError(f"not a measurement document: schema {document.get('schema')!r}")
