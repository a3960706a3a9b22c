"""The verifier's verdict on the compiler's own choice: if it refuses a kernel that runs, a rule is too strict."""

from dataclasses import asdict, replace

from warpwright.solver.device.limits import WARP_THREADS
from warpwright.solver.domain import Candidate, CandidateKind, HardwareProfile, TargetFamily, Violation, WarpwrightError
from warpwright.solver.forecast import chosen_schedule
from warpwright.tuning.toolchain import KernelRead, Toolchain
from warpwright.tuning.verdicts import VERDICT

__all__ = ["judged", "refusal_of_choice"]


def refusal_of_choice(kernel: KernelRead, kind: CandidateKind, profile: HardwareProfile, toolchain: Toolchain) -> str:
    """The first rule that refuses one of the compiler's own choices before it is built, in words; empty if none is known to.

    A build may still be refused by what its code asks for.
    """
    if profile.family is not TargetFamily.CUDA or kind is CandidateKind.SCHEDULED:
        return ""
    try:
        chosen = chosen_schedule(kernel.graph, profile, kind)
        violations = toolchain.verify(kernel, profile, chosen[0]) if chosen is not None else ()
    except WarpwrightError:
        return ""
    return f"{violations[0].family}/{violations[0].rule}: {violations[0].message}" if violations else ""


def judged(record: Candidate, kernel: KernelRead | None, profile: HardwareProfile, toolchain: Toolchain) -> Candidate:
    """A baseline's record with the verifier's verdict on its schedule, as far as that is known from the compiler's sources.

    Other records, and baselines without roles, are returned unchanged. A kernel that the rules do not cover has no verdict.
    """
    if kernel is None or record.kind is CandidateKind.SCHEDULED:
        return record
    if profile.family is not TargetFamily.CUDA or not record.built:
        return record
    try:
        chosen = chosen_schedule(kernel.graph, profile, record.kind)
        if chosen is None:
            return record
        violations = toolchain.verify(kernel, profile, chosen[0])
    except WarpwrightError:
        return record
    verdict: dict[str, object] = {
        "threads": WARP_THREADS * chosen[0].num_warps,
        "violations": [asdict(each) for each in violations if not _read_back(each, record)],
    }
    return replace(record, report={**record.report, VERDICT: verdict})


def _read_back(violation: Violation, record: Candidate) -> bool:
    """Whether the rule was held to the build's own numbers already (``warpwright.lowering.compile.register_pool``): what
    its code requests counts, not what we think that the compiler chooses.
    """
    return violation.rule == "pool-exceeded" and "warpgroup_registers" in record.report
