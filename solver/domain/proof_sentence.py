"""What a certificate proves, in one sentence: the only place where a schedule is called optimal."""

from warpwright.solver.domain.proof_scope import Choice, Covered, ProofScope, Why
from warpwright.solver.domain.verdict import Certificate

__all__ = ["proof_sentence"]

NOT_RECORDED = "among schedules that were not recorded"
"""Of certificates from before scopes: nobody can say any more what their bound holds for."""


def proof_sentence(certificate: Certificate) -> str:
    """``proven optimal`` only if the interval meets a bound of every legal schedule; otherwise among which it is proven, the
    bound of all others, and what was left undecided and why.
    """
    if certificate.initiation_interval_cycles is None and certificate.lower_bound.cycles == 0:
        return "nothing to schedule: no loop"
    gap = certificate.gap_cycles
    said = "proven optimal" if gap == 0 else f"gap {gap:,} cycles"
    if certificate.scope is None:
        return f"{said} {NOT_RECORDED}"
    scope = certificate.scope
    return "; ".join([" ".join([said, *_among(scope)]), *_undecided(scope), *_anywhere(certificate, scope)])


def _among(scope: ProofScope) -> list[str]:
    narrow = [covered for covered in scope.choices if not covered.every]
    joined = "of" if narrow and narrow[0].choice is Choice.WIDTH else "with"
    return [f"among schedules {joined} {', '.join(map(_value, narrow))}"] if narrow else []


def _value(covered: Covered) -> str:
    pinned = all(left.why is Why.PINNED for left in covered.left_out)
    return " or ".join(covered.over) + (" (pinned)" if pinned else "")


def _undecided(scope: ProofScope) -> list[str]:
    left = [left for covered in scope.choices for left in covered.left_out if left.why is Why.BUDGET]
    return [f"not proven for {each.what}: {each.why.value}" for each in left]


def _anywhere(certificate: Certificate, scope: ProofScope) -> list[str]:
    bound = scope.anywhere
    if bound is None or bound.cycles >= certificate.lower_bound.cycles:
        return []
    return [f"every legal schedule has at least {bound.cycles:,} cycles ({bound.reason})"]
