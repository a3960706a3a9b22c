"""The check of an Ascend certificate: every field that follows from schedule, kernel and profile is computed again.

Only the search's own account (engine, version, seed, work), a vendor tool's opinion, and bounds that a search proved are claims.

A certificate has a bound for each scope, so it has a proof for each.
"""

from dataclasses import fields

from warpwright.solver.ascend.certify import (
    SEARCH,
    ScopeBound,
    account_of,
    certificate_with,
    scope_bounds,
    spelled,
)
from warpwright.solver.ascend.solve import ENGINES
from warpwright.solver.domain.certificate_check import (
    CertificateCheck,
    Claimed,
    Follows,
    ProofCheck,
    check_fields,
    proof_by_bound,
    proof_claimed,
    proof_missing,
)
from warpwright.solver.domain.kernel import KernelGraph
from warpwright.solver.domain.pins import Pins
from warpwright.solver.domain.profile import HardwareProfile
from warpwright.solver.domain.schedule import BufferSchedule
from warpwright.solver.domain.verdict import Certificate

__all__ = ["AMONG", "check_certificate", "what_is_bounded"]

AMONG = "among all schedules of this scope"
"""What a bound of a scope ranges over."""


def check_certificate(
    graph: KernelGraph, profile: HardwareProfile, schedule: BufferSchedule, certificate: Certificate
) -> CertificateCheck:
    """What of a certificate is so.

    Args:
        graph: The kernel.
        profile: The device.
        schedule: A legal schedule of the kernel (:func:`warpwright.solver.ascend.verify.verify_buffers`).
        certificate: What is said about it.
    """
    account = account_of(certificate, graph.calls)
    true = certificate_with(graph, profile, schedule, account)
    judged: dict[str, Follows | Claimed] = {field.name: Follows(getattr(true, field.name)) for field in fields(true)}
    judged |= {
        "engine": Claimed("" if certificate.engine in ENGINES else f"the engines are {', '.join(ENGINES)}"),
        "engine_version": Claimed("" if certificate.engine_version else "an engine has a version"),
        "seed": _count(certificate.seed),
        "work": _count(certificate.work),
        "work_limit": _count(certificate.work_limit),
        "constraint_set": Follows(true.constraint_set, "the rules of this version are"),
        "profile_digest": Follows(profile.digest, "this profile is"),
        "verified": Follows(True, "the verifier says"),
        "oracle": Claimed(),
        "pins": Follows(true.pins, "the schedule says that the user fixed"),
    }
    if true.pins != Pins() and certificate.pins == true.pins and certificate.problem_digest != true.problem_digest:
        # TileLang asks otherwise under pins, and whoever solved it may have read the kernel under them or without.
        judged["problem_digest"] = Claimed()
    scopes = scope_bounds(graph, profile, schedule, account.searched)
    return CertificateCheck(
        check_fields(certificate, judged), tuple(_proof(each, certificate.engine) for each in scopes)
    )


def what_is_bounded(scope: ScopeBound) -> str:
    """The quantity of a scope that its bound is about."""
    return "makespan" if scope.loop.initiation_interval_cycles is None else "interval"


def _proof(scope: ScopeBound, engine: str) -> ProofCheck:
    what, place, bound = what_is_bounded(scope), spelled(scope.call), scope.bound
    if not scope.proven:
        return proof_missing(what, scope.reached, bound.cycles, bound.reason, place=place)
    if bound.reason.startswith(SEARCH):
        return proof_claimed(engine, what, scope.reached, AMONG, place=place)
    return proof_by_bound(what, scope.reached, bound.reason, place=place)


def _count(value: int) -> Claimed:
    return Claimed("" if value >= 0 else "a count is not negative")
