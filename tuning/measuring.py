"""The measuring phase of a tuning: which candidates take part in the session, in what order, and their outcomes."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf, isfinite

from warpwright.solver.domain import Candidate, CandidateKind, Failure, Outcome
from warpwright.tuning.events import Phase, PhaseEntered, StepStarted
from warpwright.tuning.ranking import best_of, ranking_of
from warpwright.tuning.result import Step
from warpwright.tuning.roofline_floor import floor_ns
from warpwright.tuning.run import TuningRun
from warpwright.tuning.size_checks import SizeChecks
from warpwright.tuning.toolchain import Contestant, KernelRead, Measurement, StepFailed
from warpwright.tuning.verdicts import refused_by_our_rules

__all__ = ["confirm", "in_order", "measure_built", "with_measurement"]

ENVIRONMENT = frozenset(
    {
        Outcome.CANCELLED,
        Outcome.SKIPPED,
        Outcome.CONTENDED,
        Outcome.DEVICE_LOST,
        Outcome.INFRASTRUCTURE,
        Outcome.NOT_APPLICABLE,
    }
)
"""Outcomes of a measurement that say nothing about the candidate: it keeps its outcome, with the reason as its failure."""


def measure_built(run: TuningRun, kernels: Mapping[int, KernelRead]) -> None:
    """Measure what was built, in one session."""
    built = _to_measure(tuple(run.records.values()))
    if not built or run.over():
        return
    run.emit(PhaseEntered(Phase.MEASURING))
    floors = {number: floor_ns(kernel.graph, run.request.profile) for number, kernel in kernels.items()}
    candidates = [Contestant(candidate, floors.get(candidate.variant, 0.0)) for candidate in in_order(built)]
    irs = [variant.ir for variant in run.request.variants]
    patience = run.patience(run.request.budget.measure_seconds * len(candidates))
    try:
        for candidate, outcome in run.toolchain.measure(candidates, irs, run.request.profile, patience):
            run.ended(with_measurement(run.records[candidate], outcome))
    except StepFailed as error:
        if error.outcome not in (Outcome.TIMED_OUT, Outcome.SKIPPED):
            raise
        # The deadline or a stop ended the session: what it measured counts, the rest stays compiled.
        run.missed = error.failure.code


def in_order(candidates: Sequence[Candidate]) -> list[Candidate]:
    """The order of a session, in which a short one still has an answer.

    The reference, without which nothing can be checked; the compiler's default; ours by forecast; the compiler's other
    choices; and at the end candidates that may hang, so that they cost the others no time.
    """
    places = {CandidateKind.UNSPECIALIZED: 0, CandidateKind.DEFAULT: 1, CandidateKind.SCHEDULED: 2}
    reference = next((c.id for c in candidates if c.kind is CandidateKind.UNSPECIALIZED), None)

    def place(candidate: Candidate) -> tuple[bool, int, float]:
        kind = places.get(candidate.kind, 3)
        if kind == 0 and candidate.id != reference:
            kind = 3
        forecast = candidate.forecast if candidate.forecast is not None else inf
        return refused_by_our_rules(candidate) and candidate.id != reference, kind, forecast

    return sorted(candidates, key=place)


def _to_measure(records: Sequence[Candidate]) -> list[Candidate]:
    """Who takes part in a session: all candidates that are built and have no time yet.

    Besides them, of those that an earlier attempt or another job has measured: the compiler's own choices, of which one is the
    reference for outputs, and those that tie for the win. Times of two sessions cannot be compared.
    """
    fresh = [r for r in records if r.outcome is Outcome.COMPILED and not r.not_honoured]
    if not fresh:
        return []
    timed = [r for r in records if r.outcome is Outcome.MEASURED and r.measured_ns is not None]
    again = {r.id for r in timed if r.kind is not CandidateKind.SCHEDULED} | set(ranking_of(timed).tied)
    return [r for r in records if r in fresh or r.id in again]


def confirm(run: TuningRun, checks: SizeChecks) -> None:
    """Check the presumptive winner at the kernel's other sizes, and the next one if it fails there."""
    while (best := best_of(tuple(run.records.values()))) is not None and checks.pending(best) and not run.over():
        run.emit(StepStarted(best.id, Step.MEASURE))
        run.ended(checks.confirmed(best, tuple(run.records.values())))


def with_measurement(record: Candidate, outcome: Measurement | StepFailed) -> Candidate:
    """The record with the result of measuring: a time, or the reason why there is none.

    A failure of the environment never changes a candidate's outcome: it stays compiled, or measured as before.
    """
    if isinstance(outcome, StepFailed):
        if outcome.outcome not in ENVIRONMENT:
            return replace(
                record, outcome=outcome.outcome, failure=outcome.failure, measured_ns=None, measurement=outcome.report
            )
        if record.outcome is Outcome.MEASURED:
            return record
        return replace(record, failure=outcome.failure, measurement=outcome.report)
    if not (isfinite(outcome.nanoseconds) and outcome.nanoseconds > 0):
        # NaN compares with nothing: sorted among times it could come first.
        failure = Failure("time-not-finite", f"the measured time was {outcome.nanoseconds} ns")
        return replace(record, outcome=Outcome.COMPILED, failure=failure, measured_ns=None, measurement=outcome.record)
    return replace(
        record, outcome=Outcome.MEASURED, measured_ns=outcome.nanoseconds, measurement=outcome.record, failure=None
    )
