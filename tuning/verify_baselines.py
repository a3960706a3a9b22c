"""The verifier's verdict on the compiler's own choice: if it refuses a kernel that runs, a rule is too strict."""

from collections.abc import Mapping
from dataclasses import asdict, replace

from warpwright.solver.device.limits import WARP_THREADS
from warpwright.solver.domain import Candidate, CandidateKind, HardwareProfile, TargetFamily, WarpwrightError
from warpwright.solver.forecast import chosen_schedule
from warpwright.tuning.toolchain import KernelRead, Toolchain

__all__ = ["VERDICT", "judged", "refused_by_our_rules"]

VERDICT = "verifier"
"""Key in a baseline's report. ``threads`` are those of the schedule that we hold for the compiler's; where the binary has
others, we judged another schedule than the one that ran."""


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
        "violations": [asdict(each) for each in violations],
    }
    return replace(record, report={**record.report, VERDICT: verdict})


def refused_by_our_rules(record: Candidate) -> bool:
    """Whether the verifier found a compiler's own choice illegal: it may hang a device."""
    verdict = record.report.get(VERDICT)
    return isinstance(verdict, Mapping) and bool(verdict.get("violations"))
