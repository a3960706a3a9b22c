"""Results in words: the proof line, a candidate's description, times. Used by the command line and by reports alike."""

from collections.abc import Mapping

from pydantic import JsonValue

from solver.domain import Certificate
from warpwright.result import Candidate

__all__ = ["describe", "microseconds", "proof_line", "registers_of"]


def proof_line(certificate: Certificate, status: str = "") -> str:
    """Initiation interval, lower bound, what binds, who proved it."""
    interval = certificate.initiation_interval_cycles
    what = f"II {interval} cycles" if interval is not None else f"length {certificate.schedule_length_cycles} cycles"
    bound = certificate.lower_bound
    verdict = "proven optimal" if certificate.gap_cycles == 0 else f"gap {certificate.gap_cycles} cycles"
    binding = ", ".join(certificate.binding) or bound.reason
    words = status.replace("_", " ")
    return (
        f"proof: {what}, lower bound {bound.cycles} ({bound.reason}), {verdict}; binds: {binding}; "
        f"{certificate.on_chip_bytes} bytes on chip; {certificate.engine} {certificate.engine_version}, "
        f"work {certificate.work}; verified: {'yes' if certificate.verified else 'NO'}"
        + (f"; {words}" if words else "")
    )


def describe(candidate: Candidate) -> str:
    """A candidate in a few words: who chose it, its structure, the variant's parameters."""
    parts = [candidate.kind.replace("_", "-")]
    parts += [f"{name}={value}" for name, value in candidate.params.items()]
    if candidate.structure:
        parts.append("; " + ", ".join(f"{name} {value}" for name, value in candidate.structure.items()))
    return " ".join(parts).replace(" ; ", "; ")


def microseconds(nanoseconds: float | None) -> str:
    """A time in microseconds, or a dash."""
    return "-" if nanoseconds is None else f"{nanoseconds / 1000:.1f}"


def registers_of(report: Mapping[str, JsonValue]) -> tuple[str, str]:
    """Registers and spilled bytes that were read back from the binary, as text."""
    ptxas = report.get("ptxas")
    if not isinstance(ptxas, Mapping):
        return "-", "-"
    spills = [
        ptxas.get(name) for name in ("spill_stores_bytes", "spill_loads_bytes", "spill_store_bytes", "spill_load_bytes")
    ]
    total = sum(int(value) for value in spills if isinstance(value, int | float))
    registers = ptxas.get("registers")
    return (str(registers) if registers is not None else "-"), str(total)
