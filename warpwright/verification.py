"""A schedule with what is said about it, from a file of any origin: is it legal, and is what is said so?"""

from dataclasses import asdict, dataclass, replace
from typing import Any

from pydantic import TypeAdapter

from warpwright.graphs import reply_error
from warpwright.legality import violations_of
from warpwright.solver.domain import (
    BufferSchedule,
    Certificate,
    HardwareProfile,
    KernelGraph,
    Schedule,
    Violation,
    documents,
)
from warpwright.solver.domain.certificate_check import CertificateCheck, ProofCheck, ProofFinding, Refusal, check_status
from warpwright.solver.modulo import ModuloProblem, verify
from warpwright.solver.modulo.certificate_check import check_answer
from warpwright.solver.modulo.stated_answer import StatedAnswer, parse_answer
from warpwright.solver.warp.certificate_check import certified_problem, check_certificate
from warpwright.tuning.children import ChildPool, Limits, Returned
from warpwright.tuning.solver_attempts import OTHER_ENGINE

__all__ = ["Stated", "Verification", "answer_rechecked", "answer_verification", "rechecked", "verification_of"]

WORK_LIMIT = 2_000_000
WALL_SECONDS = 120.0
GRACE_SECONDS = 30.0
"""Time for the engine to start and to end after its own limit."""
NO_BOUND = (ProofFinding.NOTHING,)
_PROOFS = TypeAdapter(tuple[ProofCheck, ...])


@dataclass(frozen=True, slots=True)
class Stated:
    """A schedule and what is said about it; ``status`` is a verdict's, empty for one without."""

    schedule: Schedule
    certificate: Certificate | None = None
    status: str = ""


@dataclass(frozen=True, slots=True)
class Verification:
    """The rules that the schedule breaks, and the check of its certificate (None for an illegal schedule, or without one)."""

    violations: tuple[Violation, ...]
    certificate: CertificateCheck | None = None

    @property
    def refused(self) -> tuple[Refusal, ...]:
        """What is wrong with the certificate."""
        return self.certificate.refused if self.certificate is not None else ()

    def document(self) -> dict[str, Any]:
        """The verification as JSON values."""
        check = self.certificate
        return {
            "schema": "warpwright.verification/1",
            "legal": not self.violations,
            "violations": [asdict(each) for each in self.violations],
            "certificate": None
            if check is None
            else {
                "holds": check.holds,
                "refused": [asdict(each) for each in check.refused],
                "fields": [
                    {"field": each.field, "finding": each.finding.value, "stated": each.stated, "message": each.message}
                    for each in check.fields
                ],
                "proofs": _PROOFS.dump_python(check.proofs, mode="json"),
            },
        }


def verification_of(graph: KernelGraph, profile: HardwareProfile, stated: Stated) -> Verification:
    """Judges a schedule and its certificate without any engine.

    Raises:
        NotApplicable: the kernel, the device and the schedule do not belong together.
    """
    broken = violations_of(graph, profile, stated.schedule)
    if broken or stated.certificate is None:
        return Verification(broken)
    if isinstance(stated.schedule, BufferSchedule):
        # Its bounds are the search's, which needs the extra 'solve'; a warp schedule's do not.
        from warpwright.solver.ascend.certificate_check import check_certificate as check_buffers

        check = check_buffers(graph, profile, stated.schedule, stated.certificate)
    else:
        problem, fault = certified_problem(graph, profile, stated.schedule, stated.certificate)
        check = check_certificate(problem, stated.schedule, stated.certificate, fault)
    if stated.status:
        check = replace(check, fields=(*check.fields, check_status(stated.status, check.proofs)))
    return Verification((), check)


def rechecked(
    graph: KernelGraph, profile: HardwareProfile, stated: Stated, found: Verification, *, pool: ChildPool
) -> Verification:
    """The verification after a second engine looked for something below every bound; unchanged if anything was refused.

    Raises:
        NotApplicable: there is no second engine for this kind. WarpwrightError: its process failed.
    """
    check, certificate = found.certificate, stated.certificate
    if check is None or certificate is None or check.refused or all(p.finding in NO_BOUND for p in check.proofs):
        return found
    payload = {
        "graph": documents.dump(graph),
        "profile": documents.dump(profile),
        "schedule": documents.dump(stated.schedule),
        "certificate": documents.dump(certificate),
    }
    return _asked("recheck.certificate", payload, certificate.engine, found, pool)


def answer_verification(problem: ModuloProblem, answer: StatedAnswer) -> Verification:
    """Judges a modulo answer without any engine.

    Raises:
        DocumentError: it has no schedule, or one of other operations.
    """
    schedule = answer.placed(problem)
    broken = verify(problem, schedule)
    return Verification(broken, None if broken else check_answer(problem, schedule, answer))


def answer_rechecked(problem: str, answer: str, found: Verification, *, pool: ChildPool) -> Verification:
    """As :func:`rechecked`, of a modulo problem and its answer as JSON texts."""
    if found.certificate is None or found.certificate.refused:
        return found
    stated = parse_answer(answer)
    return _asked("recheck.answer", {"problem": problem, "answer": answer}, stated.proven_by, found, pool)


def _asked(task: str, payload: dict[str, Any], proven_by: str, found: Verification, pool: ChildPool) -> Verification:
    """The proofs of a certificate by another engine than the one that made them."""
    engine = OTHER_ENGINE.get(proven_by, "z3")
    asked = {**payload, "engine": engine, "seed": 0, "work_limit": WORK_LIMIT, "wall_seconds": WALL_SECONDS}
    limits = Limits(wall_seconds=2 * WALL_SECONDS + GRACE_SECONDS, cpu_seconds=2 * WALL_SECONDS + GRACE_SECONDS)
    reply = pool.run(task, asked, limits)
    if not isinstance(reply, Returned):
        raise reply_error(reply, "the recheck")
    assert found.certificate is not None
    proofs = _PROOFS.validate_python(reply.value["proofs"])
    return replace(found, certificate=replace(found.certificate, proofs=proofs))
