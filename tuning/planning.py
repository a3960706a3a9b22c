"""The candidates of a tuning: the compiler's own choices as yardstick and reference, and the solver's proposals."""

from collections.abc import Collection, Mapping, Sequence

from warpwright.solver.domain import BASELINES, Candidate, CandidateKind, Outcome, Proposals, TargetFamily, candidate_id
from warpwright.tuning.build import BuildPlan
from warpwright.tuning.ranking import ranked
from warpwright.tuning.request import TuneRequest
from warpwright.tuning.toolchain import KernelRead, Toolchain

__all__ = ["baselines", "next_yardstick", "plans_of"]


FIRST = (CandidateKind.UNSPECIALIZED, CandidateKind.DEFAULT)
"""Without the reference nothing can be checked, without the compiler's default nothing compared."""


def plans_of(
    request: TuneRequest,
    toolchain: Toolchain,
    kernels: Mapping[int, KernelRead],
    proposals: Proposals,
    baseline_variant: int,
) -> tuple[BuildPlan, ...]:
    """In the order of their worth: what all others are checked against, the compiler's default for the user's variant, the
    proposals by forecast, and the compiler's other choices.
    """
    yardsticks = baselines(request, toolchain, kernels, baseline_variant)
    first = [plan for kind in FIRST for plan in yardsticks if plan.candidate.kind is kind]
    proposed = [BuildPlan(candidate, kernels[candidate.variant]) for candidate in proposals.candidates]
    return tuple({plan.id: plan for plan in [*first, *proposed, *yardsticks]}.values())


def baselines(
    request: TuneRequest, toolchain: Toolchain, kernels: Mapping[int, KernelRead], variant: int
) -> tuple[BuildPlan, ...]:
    """The compiler's own choices for one variant."""
    family = request.profile.family
    kernel = kernels.get(variant)
    # A kernel that no schedule can express has no graph and no structural hash: its text identifies it.
    ir = request.variants[variant].ir
    return tuple(
        BuildPlan(
            Candidate(
                id=candidate_id(kernel.ir_hash if kernel else ir, kind, None),
                variant=variant,
                kind=kind,
                params=request.variants[variant].params,
                forecast_ns=toolchain.forecast(kernel, kind, request.profile) if kernel else None,
            ),
            kernel,
        )
        for kind in (BASELINES if family is TargetFamily.CUDA else (CandidateKind.DEFAULT,))
    )


def next_yardstick(
    records: Sequence[Candidate], kernels: Mapping[int, KernelRead], tried: Collection[int]
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
