"""The measuring phase of a tuning: who takes part in the session, and what it makes of each candidate."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isfinite

from warpwright.solver.domain import Candidate, CandidateKind, Failure, Outcome
from warpwright.tuning.events import Phase, PhaseEntered, StepStarted
from warpwright.tuning.ranking import best_of
from warpwright.tuning.result import Step
from warpwright.tuning.roofline_floor import floor_ns
from warpwright.tuning.run import Run
from warpwright.tuning.size_checks import SizeChecks
from warpwright.tuning.toolchain import Contestant, KernelRead, Measurement, StepFailed

__all__ = ["confirm", "measure_built", "with_measurement"]


def measure_built(run: Run, kernels: Mapping[int, KernelRead]) -> None:
    """Measure what was built, in one session."""
    built = _to_measure(tuple(run.records.values()))
    if not built or run.over():
        return
    run.emit(PhaseEntered(Phase.MEASURING))
    floors = {number: floor_ns(kernel.graph, run.request.profile) for number, kernel in kernels.items()}
    candidates = [Contestant(candidate, floors.get(candidate.variant, 0.0)) for candidate in built]
    irs = [variant.ir for variant in run.request.variants]
    patience = run.patience(run.request.budget.measure_seconds * len(candidates))
    try:
        for candidate, outcome in run.toolchain.measure(candidates, irs, run.request.profile, patience):
            run.ended(with_measurement(run.records[candidate], outcome))
    except StepFailed as error:
        if error.outcome not in (Outcome.TIMED_OUT, Outcome.SKIPPED):
            raise
        # The deadline or a stop ended the session: what it measured counts, the rest stays compiled.
        run.cut = True


def _to_measure(records: Sequence[Candidate]) -> list[Candidate]:
    """Who takes part in a session: all candidates that are built and have no time yet.

    Besides them, of those that an earlier attempt or another job has measured: the compiler's own choices, of which one is the
    reference for outputs, and the fastest. Times of two sessions cannot be compared.
    """
    fresh = [r for r in records if r.outcome is Outcome.COMPILED and not r.not_honoured]
    if not fresh:
        return []
    timed = [r for r in records if r.outcome is Outcome.MEASURED and r.measured_ns is not None]
    fastest = min(timed, key=lambda r: r.measured_ns or 0.0, default=None)
    again = {r.id for r in timed if r.kind is not CandidateKind.SCHEDULED or r is fastest}
    return [r for r in records if r in fresh or r.id in again]


def confirm(run: Run, checks: SizeChecks) -> None:
    """Check the presumptive winner at the kernel's other sizes, and the next one if it fails there."""
    while (best := best_of(tuple(run.records.values()))) is not None and checks.pending(best) and not run.over():
        run.emit(StepStarted(best.id, Step.MEASURE))
        run.ended(checks.confirmed(best, tuple(run.records.values())))


def with_measurement(record: Candidate, outcome: Measurement | StepFailed) -> Candidate:
    """The record with the result of measuring: a time, or the reason why there is none."""
    if isinstance(outcome, StepFailed):
        return replace(
            record, outcome=outcome.outcome, failure=outcome.failure, measured_ns=None, measurement=outcome.report
        )
    if not (isfinite(outcome.nanoseconds) and outcome.nanoseconds > 0):
        # NaN is not ordered: sorted among times it could come first.
        failure = Failure("time-not-finite", f"the measured time was {outcome.nanoseconds} ns")
        return replace(record, outcome=Outcome.INFRASTRUCTURE, failure=failure, measurement=outcome.record)
    return replace(
        record, outcome=Outcome.MEASURED, measured_ns=outcome.nanoseconds, measurement=outcome.record, failure=None
    )
