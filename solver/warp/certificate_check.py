"""The check of a warp certificate: every field that follows from schedule, kernel and profile is computed again.

Only the search's own account (engine, version, seed, work) and a bound that it proved are claims; the bound's claim is named in
a sentence, and :mod:`warpwright.solver.warp.recheck` asks a second engine.
"""

from dataclasses import fields

from warpwright.solver.domain.certificate_check import (
    CertificateCheck,
    Claimed,
    Follows,
    ProofCheck,
    ProofFinding,
    check_fields,
    proof_by_bound,
    proof_claimed,
    proof_missing,
)
from warpwright.solver.domain.errors import PinError
from warpwright.solver.domain.kernel import KernelGraph
from warpwright.solver.domain.profile import HardwareProfile
from warpwright.solver.domain.schedule import WarpSchedule
from warpwright.solver.domain.verdict import Certificate
from warpwright.solver.engines import engine_names
from warpwright.solver.warp.certify import account_of, certificate_with, searched
from warpwright.solver.warp.problem import WarpProblem, close_problem
from warpwright.solver.warp.verify import violations

__all__ = ["AMONG", "certified_problem", "check_certificate"]

AMONG = "in its scope"
"""What a bound of a warp certificate ranges over."""
NO_LOOP = ProofCheck(ProofFinding.NOTHING, "the kernel has no loop, so no interval is claimed")


def certified_problem(
    graph: KernelGraph, profile: HardwareProfile, schedule: WarpSchedule, certificate: Certificate
) -> tuple[WarpProblem, str]:
    """The problem that a certificate is about, and why its pins cannot be right (empty if they can).

    Raises:
        NotApplicable, ProfileError: as :func:`warpwright.solver.warp.problem.close_problem`.
    """
    own = close_problem(graph, profile)
    try:
        problem = close_problem(graph, profile, certificate.pins)
    except PinError as error:
        return own, error.message
    broken = [each for each in violations(problem, schedule) if each not in violations(own, schedule)]
    return (own, f"the schedule does not keep them: {broken[0].message}") if broken else (problem, "")


def check_certificate(
    problem: WarpProblem, schedule: WarpSchedule, certificate: Certificate, pins_fault: str = ""
) -> CertificateCheck:
    """What of a certificate is so.

    Args:
        problem: What the certificate is about, and ``pins_fault`` why its pins cannot be right (:func:`certified_problem`).
        schedule: A legal schedule of the problem (:func:`warpwright.solver.warp.verify.violations`).
        certificate: What is said about it.
        pins_fault: Empty if the pins are those of the problem.
    """
    true = certificate_with(problem, schedule, account_of(certificate))
    judged: dict[str, Follows | Claimed] = {field.name: Follows(getattr(true, field.name)) for field in fields(true)}
    judged |= {
        "engine": _engine(certificate.engine),
        "engine_version": Claimed("" if certificate.engine_version else "an engine has a version"),
        "seed": _count(certificate.seed),
        "work": _count(certificate.work),
        "work_limit": _count(certificate.work_limit),
        "constraint_set": Follows(true.constraint_set, "the rules of this version are"),
        "profile_digest": Follows(true.profile_digest, "this profile is"),
        "verified": Follows(true.verified, "the verifier says"),
        "oracle": Follows(true.oracle, "no vendor tool judges warp schedules:"),
        "pins": Claimed(pins_fault) if pins_fault else Follows(true.pins, "kernel and certificate fix"),
    }
    return CertificateCheck(check_fields(certificate, judged), (_proof(true),))


def _proof(true: Certificate) -> ProofCheck:
    interval, lower = true.initiation_interval_cycles, true.lower_bound
    if interval is None:
        return NO_LOOP
    if lower.cycles < interval:
        return proof_missing("interval", interval, lower.cycles, lower.reason)
    if lower.reason == searched(true.engine):
        return proof_claimed(true.engine, "interval", interval, AMONG)
    return proof_by_bound("interval", interval, lower.reason)


def _engine(name: str) -> Claimed:
    known = engine_names()
    return Claimed("" if name in known else f"the engines are {', '.join(known)}")


def _count(value: int) -> Claimed:
    return Claimed("" if value >= 0 else "it cannot be negative")
