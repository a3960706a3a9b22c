"""What a check of a certificate found, field by field and proof by proof: one form for warp, modulo and Ascend answers.

A field either follows from schedule, problem and profile, then it is computed again and must be equal; or it says what a search
did, then nothing here can tell, and it is reported as unchecked. A checker has to place every field of its certificate in one
of the two: a field that it forgot is an error of the program, so no new field escapes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any

from warpwright.solver.domain.verdict import Violation

__all__ = [
    "REFUTED",
    "CertificateCheck",
    "Claimed",
    "FieldCheck",
    "FieldFinding",
    "Follows",
    "ProofCheck",
    "ProofFinding",
    "Refusal",
    "check_fields",
    "check_status",
    "proof_by_bound",
    "proof_claimed",
    "proof_missing",
    "proof_rechecked",
    "proof_refuted",
    "proof_undecided",
    "proof_unusable",
]

CERTIFICATE = "certificate"
"""What the codes of refusals begin with: ``certificate/lower-bound`` is about the field ``lower_bound``."""
REFUTED = "certificate/refuted"
"""The code of a bound below which a second engine found a legal schedule."""
PROVEN = "proven_optimal"
SHOWN = 160
"""Characters of a value that a message shows."""


class FieldFinding(StrEnum):
    """What a check says about one field. Stored by name."""

    CONFIRMED = "confirmed"
    """Computed again, and equal."""
    REFUSED = "refused"
    """Differs from what follows, or is nothing that a search can have done."""
    UNCHECKED = "unchecked"
    """Says what a search did or used; it was not done again."""


@dataclass(frozen=True, slots=True)
class Follows:
    """The only value that a field can have. ``because`` says what gives it, for a person whose certificate differs."""

    value: object
    because: str = "schedule, kernel and profile give"


@dataclass(frozen=True, slots=True)
class Claimed:
    """A field that cannot be computed again; ``fault`` says why its value is not possible at all (empty if it may be so)."""

    fault: str = ""


@dataclass(frozen=True, slots=True)
class FieldCheck:
    """One field, what the certificate states, and the finding; ``message`` says why a refused one is refused."""

    field: str
    finding: FieldFinding
    stated: str
    message: str = ""

    @property
    def code(self) -> str:
        """The stable code of a refusal, such as ``certificate/lower-bound``."""
        return f"{CERTIFICATE}/{self.field.replace('_', '-')}"


class ProofFinding(StrEnum):
    """What is known about a bound after the check. Stored by name."""

    COMPUTED = "computed"
    """Arithmetic gives the bound again, without a search."""
    CLAIMED = "claimed"
    """A search is said to have proven it."""
    RECHECKED = "rechecked"
    """A second engine found nothing below it."""
    REFUTED = "refuted"
    """A second engine found something below it, which the verifier accepts."""
    UNDECIDED = "undecided"
    """The second engine's budget ended first: still a claim."""
    NONE = "none"
    """The certificate does not claim that its schedule is the best."""
    NOTHING = "nothing"
    """There is no loop, so there is no interval to prove."""


@dataclass(frozen=True, slots=True)
class ProofCheck:
    """What is known about one bound, in a sentence; ``place`` is a loop where a certificate has a bound for each."""

    finding: ProofFinding
    sentence: str
    engine: str = ""
    place: str = ""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Something that a certificate says and that is not so: stable code (``certificate/lower-bound``), reason, place."""

    code: str
    message: str
    place: str


@dataclass(frozen=True, slots=True)
class CertificateCheck:
    """Every field of a certificate, and every bound that it claims."""

    fields: tuple[FieldCheck, ...]
    proofs: tuple[ProofCheck, ...]

    @property
    def refused(self) -> tuple[Refusal, ...]:
        """Refused fields, then refuted bounds."""
        wrong = [
            Refusal(check.code, check.message, check.field)
            for check in self.fields
            if check.finding is FieldFinding.REFUSED
        ]
        wrong += [
            Refusal(REFUTED, proof.sentence, proof.place)
            for proof in self.proofs
            if proof.finding is ProofFinding.REFUTED
        ]
        return tuple(wrong)

    @property
    def unchecked(self) -> tuple[str, ...]:
        """Names of the fields that were not checked."""
        return tuple(check.field for check in self.fields if check.finding is FieldFinding.UNCHECKED)

    @property
    def holds(self) -> bool:
        """Whether nothing was refused."""
        return not self.refused

    @property
    def undecided(self) -> bool:
        """Whether a second engine was asked and gave no answer."""
        return any(proof.finding is ProofFinding.UNDECIDED for proof in self.proofs)


def check_status(status: str, proofs: tuple[ProofCheck, ...]) -> FieldCheck:
    """Whether a verdict's status agrees with what its certificate claims: ``proven_optimal`` needs a bound that is reached.

    ``feasible`` says less than any certificate, and may be the truth about the order of the other objectives.
    """
    gap = next((proof for proof in proofs if proof.finding is ProofFinding.NONE), None)
    if status == PROVEN and gap is not None:
        return FieldCheck("status", FieldFinding.REFUSED, status, f"the status is {status}, but {gap.sentence}")
    if status == PROVEN:
        return FieldCheck("status", FieldFinding.CONFIRMED, status)
    return FieldCheck("status", FieldFinding.UNCHECKED, status)


def check_fields(certificate: Any, judged: Mapping[str, Follows | Claimed]) -> tuple[FieldCheck, ...]:
    """Compares every field of a certificate, in the order of its class.

    Args:
        certificate: Any dataclass: a certificate, or an answer document.
        judged: For every field either the value that follows, or that it is a claim.

    Raises:
        KeyError: ``judged`` lacks a field of the class or names another one: the checker is incomplete.
    """
    names = [field.name for field in fields(certificate)]
    if missing := set(names) ^ judged.keys():
        raise KeyError(
            f"a check of {type(certificate).__name__} must judge exactly its fields; look at {sorted(missing)}"
        )
    return tuple(_field(name, getattr(certificate, name), judged[name]) for name in names)


def _field(name: str, stated: object, judged: Follows | Claimed) -> FieldCheck:
    shown = _shown(stated)
    if isinstance(judged, Claimed):
        if judged.fault:
            return FieldCheck(name, FieldFinding.REFUSED, shown, f"{name} is {shown}: {judged.fault}")
        return FieldCheck(name, FieldFinding.UNCHECKED, shown)
    # True == 1 in Python; in a certificate they are different values.
    if type(stated) is type(judged.value) and stated == judged.value:
        return FieldCheck(name, FieldFinding.CONFIRMED, shown)
    message = f"the certificate says {name} is {shown}; {judged.because} {_shown(judged.value)}"
    return FieldCheck(name, FieldFinding.REFUSED, shown, message)


def _shown(value: object) -> str:
    text = f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"


def proof_by_bound(what: str, cycles: int, reason: str, *, place: str = "") -> ProofCheck:
    """Arithmetic gives the bound again: ``what`` (``interval``, ``makespan``) reaches it."""
    sentence = f"{what} {cycles:,} is the lower bound by {reason}, computed again: nothing is shorter"
    return ProofCheck(ProofFinding.COMPUTED, sentence, place=place)


def proof_claimed(engine: str, what: str, cycles: int, among: str, *, place: str = "") -> ProofCheck:
    """A search is said to have proven that nothing ``among`` these schedules is shorter."""
    sentence = f"{what} {cycles:,} with nothing shorter {among}: claimed by {engine}, not rechecked"
    return ProofCheck(ProofFinding.CLAIMED, sentence, engine, place)


def proof_rechecked(engine: str, what: str, cycles: int, among: str, *, place: str = "") -> ProofCheck:
    """A second engine excluded everything below the bound."""
    sentence = f"{what} {cycles:,} {among}: rechecked by {engine}: nothing shorter"
    return ProofCheck(ProofFinding.RECHECKED, sentence, engine, place)


def proof_refuted(engine: str, what: str, cycles: int, found: int, *, place: str = "") -> ProofCheck:
    """A second engine found a shorter schedule, which the verifier accepts."""
    sentence = f"nothing below {what} {cycles:,} is false: {engine} found a legal schedule with {found:,}"
    return ProofCheck(ProofFinding.REFUTED, sentence, engine, place)


def proof_undecided(engine: str, what: str, cycles: int, reason: str, *, place: str = "") -> ProofCheck:
    """The second engine gave no answer."""
    sentence = f"{what} {cycles:,}: not rechecked: {engine} did not decide ({reason})"
    return ProofCheck(ProofFinding.UNDECIDED, sentence, engine, place)


def proof_unusable(engine: str, what: str, cycles: int, broken: Violation, *, place: str = "") -> ProofCheck:
    """The second engine's answer breaks a rule of the verifier: it shows nothing."""
    return proof_undecided(engine, what, cycles, f"its answer broke {broken.family}/{broken.rule}", place=place)


def proof_missing(what: str, cycles: int, bound: int, reason: str, *, place: str = "") -> ProofCheck:
    """The certificate has a gap: it does not say that its schedule is the shortest."""
    sentence = f"{what} {cycles:,} is not proven the shortest: the lower bound is {bound:,} by {reason}"
    return ProofCheck(ProofFinding.NONE, sentence, place=place)
