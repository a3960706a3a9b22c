"""The verifier's verdict on the compiler's own choice: if it refuses a kernel that runs, a rule is too strict."""

from dataclasses import asdict, replace

from warpwright.solver.device.limits import WARP_THREADS
from warpwright.solver.domain import (
    Candidate,
    CandidateKind,
    HardwareProfile,
    TargetFamily,
    Violation,
    WarpSchedule,
    WarpwrightError,
)
from warpwright.solver.forecast import chosen_schedule
from warpwright.tuning.toolchain import KernelRead, Toolchain
from warpwright.tuning.verdicts import VERDICT

__all__ = ["judged", "refusal_of_choice"]


def refusal_of_choice(kernel: KernelRead, kind: CandidateKind, profile: HardwareProfile, toolchain: Toolchain) -> str:
    """The first rule that refuses one of the compiler's own choices before it is built, in words; empty if none is known to.

    A build may still be refused by what its code asks for.
    """
    found = _verified(kernel, kind, profile, toolchain)
    return found[1][0].words if found is not None and found[1] else ""


def judged(record: Candidate, kernel: KernelRead | None, profile: HardwareProfile, toolchain: Toolchain) -> Candidate:
    """A baseline's record with the verifier's verdict on its schedule, as far as that is known from the compiler's sources.

    Other records, and baselines without roles, are returned unchanged. A kernel that the rules do not cover has no verdict.
    """
    found = _verified(kernel, record.kind, profile, toolchain) if kernel is not None and record.built else None
    if found is None:
        return record
    schedule, violations = found
    verdict: dict[str, object] = {
        "threads": WARP_THREADS * schedule.num_warps,
        "violations": [asdict(each) for each in violations if not _read_back(each, record)],
    }
    return replace(record, report={**record.report, VERDICT: verdict})


def _verified(
    kernel: KernelRead, kind: CandidateKind, profile: HardwareProfile, toolchain: Toolchain
) -> tuple[WarpSchedule, tuple[Violation, ...]] | None:
    """What the compiler chooses by itself, and the rules that it breaks; None for a schedule of ours, a choice without roles, and
    a kernel or device that the rules do not cover.
    """
    if profile.family is not TargetFamily.CUDA or kind is CandidateKind.SCHEDULED:
        return None
    try:
        chosen = chosen_schedule(kernel.graph, profile, kind)
        return (chosen[0], toolchain.verify(kernel, profile, chosen[0])) if chosen is not None else None
    except WarpwrightError:
        return None


def _read_back(violation: Violation, record: Candidate) -> bool:
    """Whether the rule was held to the build's own numbers already (``warpwright.lowering.compile.register_pool``): what
    its code requests counts, not what we think that the compiler chooses.
    """
    return violation.rule == "pool-exceeded" and "warpgroup_registers" in record.report
