"""A candidate's evidence in words: the proof line, its structure, what was read back. Pages and terminal use the same wording."""

from collections.abc import Mapping, Sequence
from typing import Any

from warpwright.solver.domain import Certificate, Conflict, Outcome, RejectedStructure, proof_sentence

__all__ = [
    "agreement",
    "basis_line",
    "by_reason",
    "proof_line",
    "proposed_line",
    "registers_of",
    "structure_words",
]

USUAL = {("store", "consumer"), ("iterations", "in order"), ("registers", "as launched")}
"""Default choices that are not mentioned: the consumer stores, iterations stay in order, no setmaxnreg."""


def proof_line(certificate: Certificate) -> str:
    """Initiation interval, lower bound, what is proven, binding resources, and the engine that proved it."""
    interval = certificate.initiation_interval_cycles
    what = f"II {interval} cycles" if interval is not None else f"length {certificate.schedule_length_cycles} cycles"
    bound = certificate.lower_bound
    binding = ", ".join(certificate.binding) or bound.reason
    return (
        f"proof: {what}, lower bound {bound.cycles} ({bound.reason}), {proof_sentence(certificate)}; binds: {binding}; "
        f"{_total(certificate)}{certificate.on_chip_bytes} bytes on chip; {certificate.engine} {certificate.engine_version}, "
        f"work {certificate.work}; verified: {'yes' if certificate.verified else 'NO'}"
    )


def basis_line(outcome: str, measurement: Mapping[str, Any], *, costed: bool, proven: bool) -> str:
    """What an answer rests on: a measurement with its checks, or a forecast only; and whether there is a proof."""
    if outcome == Outcome.MEASURED:
        device, agreed = measurement.get("device"), agreement(measurement)
        name = f" on {device['name']}" if isinstance(device, Mapping) and device.get("name") else ""
        basis = f"measured{name}, outputs checked" + (f", {agreed}" if agreed else "")
    elif costed:
        basis = "a forecast only, nothing was measured"
    else:
        basis = "no cost: nothing was measured, and there is no forecast"
    return f"rests on: {basis}; " + ("proof below" if proven else "no proof, the compiler chose the schedule itself")


def agreement(measurement: Mapping[str, Any]) -> str:
    """How many launches of the checks gave the outputs of the first one bit by bit, in words; empty if nothing was checked."""
    found = measurement.get("checks")
    checks = [check for check in found if isinstance(check, Mapping)] if isinstance(found, list | tuple) else []
    launches, agreed = (sum(int(check.get(name, 1)) for check in checks) for name in ("launches", "agreed"))
    if not launches:
        return ""
    free = any(not check.get("reproducible", True) for check in checks)
    return f"{agreed} of {launches} launches agreed" + (
        " (they may differ: the kernel is not reproducible)" if free else ""
    )


def _total(certificate: Certificate) -> str:
    """Cycles of the whole kernel with their bound; empty if they are not known."""
    if certificate.total_cycles is None:
        return ""
    bound = certificate.total_bound_cycles
    least = f", lower bound {bound:,}" if bound is not None and bound < certificate.total_cycles else ""
    proven = ", proven least" if bound == certificate.total_cycles else ""
    return f"whole kernel {certificate.total_cycles:,} cycles{least}{proven}; "


def structure_words(structure: Mapping[str, Any]) -> str:
    """A structure without its default choices: ``2 warpgroups, As=4,Bs=3, registers 24/240``."""
    words = []
    for name, value in structure.items():
        if name == "consumer_warpgroups":
            words.append(f"{value} warpgroup{'' if value == '1' else 's'}")
        elif name in ("pipelines", "depth"):
            words.append(str(value))
        elif (name, value) not in USUAL:
            words.append(f"{name} {value}")
    return ", ".join(words)


def registers_of(report: Mapping[str, Any]) -> tuple[str, str]:
    """Registers and spilled bytes that were read back from the binary, as text; dashes if nothing was."""
    ptxas = report.get("ptxas")
    if not isinstance(ptxas, Mapping):
        return "-", "-"
    spills = [
        ptxas.get(name) for name in ("spill_stores_bytes", "spill_loads_bytes", "spill_store_bytes", "spill_load_bytes")
    ]
    total = sum(int(value) for value in spills if isinstance(value, int | float))
    registers = ptxas.get("registers")
    return (str(registers) if registers is not None else "-"), str(total)


def proposed_line(data: Mapping[str, Any]) -> str:
    """The event ``proposed`` of a job: how much there is to build."""
    return f"{data.get('total')} candidates to build, {data.get('rejected')} structures proven impossible"


def by_reason(rejected: Sequence[RejectedStructure]) -> list[tuple[tuple[Conflict, ...], list[RejectedStructure]]]:
    """Impossible structures by what makes them impossible: each reason once, with all structures that it excludes."""
    groups: dict[tuple[Conflict, ...], list[RejectedStructure]] = {}
    for entry in rejected:
        groups.setdefault(tuple(dict.fromkeys(entry.conflicts)), []).append(entry)
    return list(groups.items())
