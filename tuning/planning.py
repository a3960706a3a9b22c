"""The candidates of a tuning: the compiler's own choices as yardstick and reference, and the solver's proposals."""

from collections.abc import Collection, Mapping, Sequence

from warpwright.solver.domain import TargetFamily
from warpwright.tuning.build import Plan
from warpwright.tuning.candidate_identity import candidate_id
from warpwright.tuning.ranking import ranked
from warpwright.tuning.request import TuneRequest
from warpwright.tuning.result import BASELINES, CandidateKind, CandidateRecord, Outcome
from warpwright.tuning.toolchain import KernelRead, Proposals, Toolchain

__all__ = ["baselines", "next_yardstick", "plans_of"]


def plans_of(
    request: TuneRequest,
    toolchain: Toolchain,
    kernels: Mapping[int, KernelRead],
    proposals: Proposals,
    baseline_variant: int,
) -> tuple[Plan, ...]:
    """Baselines of the user's default first (they are the yardstick), then proposals, best forecast first."""
    plans = {plan.id: plan for plan in baselines(request, toolchain, kernels, baseline_variant)}
    for proposal in proposals.schedules:
        kernel = kernels[proposal.variant]
        plan = Plan(
            id=candidate_id(kernel.ir_hash, CandidateKind.SCHEDULED, proposal.schedule),
            variant=proposal.variant,
            kind=CandidateKind.SCHEDULED,
            kernel=kernel,
            forecast_ns=proposal.forecast_ns,
            proposal=proposal,
        )
        plans.setdefault(plan.id, plan)
    return tuple(plans.values())


def baselines(
    request: TuneRequest, toolchain: Toolchain, kernels: Mapping[int, KernelRead], variant: int
) -> tuple[Plan, ...]:
    """The compiler's own choices for one variant."""
    family = request.profile.family
    kernel = kernels.get(variant)
    # A kernel that no schedule can express has no graph and no structural hash: its text identifies it.
    ir = request.variants[variant].ir
    return tuple(
        Plan(
            id=candidate_id(kernel.ir_hash if kernel else ir, kind, None),
            variant=variant,
            kind=kind,
            kernel=kernel,
            forecast_ns=toolchain.forecast(kernel, kind, request.profile) if kernel else None,
        )
        for kind in (BASELINES if family is TargetFamily.CUDA else (CandidateKind.DEFAULT,))
    )


def next_yardstick(
    records: Sequence[CandidateRecord], kernels: Mapping[int, KernelRead], tried: Collection[int]
) -> int | None:
    """The variant whose baselines are built because those of the user's default do not fit the device; None if they do.

    Without an unspecialised build there is no reference, so nothing could be measured. Variants that have built schedules
    come first.
    """
    references = [r for r in records if r.kind is CandidateKind.UNSPECIALIZED]
    unfit = [r for r in references if r.outcome in (Outcome.OVER_RESOURCE, Outcome.COMPILE_FAILED)]
    if not references or len(unfit) < len(references):
        return None
    scheduled = [r.variant for r in ranked(records) if r.kind is CandidateKind.SCHEDULED]
    return next((number for number in [*scheduled, *sorted(kernels)] if number not in tried), None)
