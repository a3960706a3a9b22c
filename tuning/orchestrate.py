"""The orchestration: read, propose, verify, materialize, compile, measure, rank. No database, no HTTP, no clock but a budget.

Only verified schedules are lowered. A candidate that fails is a record with a reason; only a failure
of the whole tuning (no variant readable) ends it without an answer.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from dataclasses import dataclass, replace
from math import isfinite

from warpwright.solver.domain import (
    Candidate,
    CandidateKind,
    Failure,
    NotApplicable,
    Outcome,
    Proposals,
    WarpwrightError,
)
from warpwright.tuning.build import BuildPlan, build, skipped
from warpwright.tuning.events import CandidateEnded, Event, Phase, PhaseEntered, Proposed, StepStarted, VariantRead
from warpwright.tuning.outage import Outage
from warpwright.tuning.planning import baselines, next_yardstick, plans_of
from warpwright.tuning.ranking import best_of, note_of
from warpwright.tuning.request import TuneRequest
from warpwright.tuning.result import Ending, Step, TuneResult, VariantReport
from warpwright.tuning.roofline_floor import floor_ns
from warpwright.tuning.size_checks import RIGHT, SizeChecks, size_entries
from warpwright.tuning.toolchain import Contestant, KernelRead, Measurement, Patience, StepFailed, Stop, Toolchain
from warpwright.tuning.verify_baselines import judged

__all__ = ["tune", "with_measurement"]

_READ_SECONDS = 60.0
MEASURE_SHARE = 0.35
"""Share of the wall time that building leaves to measuring if a device is available: a binary without a time is no answer."""


@dataclass(slots=True)
class _Run:
    """State of one tuning: its inputs, and what has ended so far."""

    request: TuneRequest
    toolchain: Toolchain
    emit: Callable[[Event], None]
    stop: Stop
    deadline: float
    build_until: float
    records: dict[str, Candidate]
    total: int = 0
    cut: bool = False
    """Candidates were left unbuilt so that the built ones can be measured."""

    def patience(self, seconds: float) -> Patience:
        return Patience(seconds=seconds, deadline=self.deadline, stop=self.stop)

    def over(self) -> bool:
        if time.monotonic() >= self.deadline:
            self.stop.raise_flag("budget")
        return self.stop.is_raised()

    def building_is_over(self) -> bool:
        """Whether the remaining time is reserved for measuring what was built."""
        return self.over() or time.monotonic() >= self.build_until

    def ended(self, record: Candidate) -> None:
        self.records[record.id] = record
        self.emit(CandidateEnded(record, done=len(self.records), total=self.total))


def tune(
    request: TuneRequest,
    *,
    events: Callable[[Event], None],
    toolchain: Toolchain,
    stop: Stop | None = None,
    known: Callable[[str], Candidate | None] | None = None,
    parallel: int = 1,
) -> TuneResult:
    """Tune one kernel or kernel family.

    Args:
        request: what to tune, for which device, and how long.
        events: called from this thread only, in order, before the function goes on; a candidate's event carries its
            complete record, so that the listener can commit it at once.
        toolchain: what does the work.
        stop: set from outside to end early; the answer is then partial.
        known: returns the record of a candidate that need not be built again (from an earlier attempt, or another job).
        parallel: candidates that are built at the same time.

    Raises:
        WarpwrightError: no variant could be read; the first variant's refusal.
        StepFailed: the toolchain failed before any candidate existed.
    """
    deadline = time.monotonic() + request.budget.wall_seconds
    measures = request.measure and toolchain.measures(request.profile)
    run = _Run(
        request=request,
        toolchain=toolchain,
        emit=events,
        stop=stop or Stop(),
        deadline=deadline,
        build_until=deadline - (MEASURE_SHARE * request.budget.wall_seconds if measures else 0.0),
        records={},
    )
    run.emit(PhaseEntered(Phase.SOLVING))
    kernels, variants, not_applicable = _read(run)
    proposals = Proposals(ended="stopped") if run.over() else _propose(run, kernels)
    tried = {0 if not_applicable else min(kernels)}
    plans = plans_of(request, toolchain, kernels, proposals, min(tried))
    run.total = len(plans)
    run.emit(Proposed(total=len(plans), rejected=len(proposals.rejected)))
    run.emit(PhaseEntered(Phase.BUILDING))
    _build_all(run, plans, known or _nothing_known, parallel)
    while (
        not run.building_is_over()
        and (variant := next_yardstick(tuple(run.records.values()), kernels, tried)) is not None
    ):
        tried.add(variant)
        more = [plan for plan in baselines(request, toolchain, kernels, variant) if plan.id not in run.records]
        run.total += len(more)
        run.emit(Proposed(total=run.total, rejected=len(proposals.rejected)))
        _build_all(run, more, known or _nothing_known, parallel)
    # Asked again: a worker with the device may have started while the candidates were built.
    if measures or (request.measure and toolchain.measures(request.profile)):
        _measure_all(run, kernels)
        _confirm(run, SizeChecks(request, toolchain, run.patience, parallel))
    records = tuple(run.records.values())
    best = best_of(records)
    return TuneResult(
        ending=_ending(kernels, proposals),
        best=best.id if best else None,
        candidates=records,
        variants=variants,
        rejected=proposals.rejected,
        partial=run.stop.is_raised() or run.cut,
        stopped_by=run.stop.reason or ("budget" if run.cut else ""),
        note=_note(run, best),
        failure=None if kernels else not_applicable,
    )


def _read(run: _Run) -> tuple[dict[int, KernelRead], tuple[VariantReport, ...], Failure | None]:
    kernels: dict[int, KernelRead] = {}
    reports: list[VariantReport] = []
    first_refusal: WarpwrightError | None = None
    not_applicable: Failure | None = None
    for number, variant in enumerate(run.request.variants):
        if number and run.over():
            break
        try:
            kernel = run.toolchain.read(variant.ir, run.request.profile, run.patience(_READ_SECONDS))
        except Outage:
            raise
        except WarpwrightError as error:
            failure = Failure(error.code, error.message, error.place)
            first_refusal = first_refusal or error
            if number == 0 and isinstance(error, NotApplicable):
                not_applicable = failure
            report = VariantReport(number, variant.params, failure=failure)
        else:
            kernels[number] = kernel
            report = VariantReport(number, variant.params, kernel=kernel.graph.name, ir_hash=kernel.ir_hash)
        reports.append(report)
        run.emit(VariantRead(report))
    if not kernels and not_applicable is None and first_refusal is not None:
        raise first_refusal
    return kernels, tuple(reports), not_applicable


def _propose(run: _Run, kernels: Mapping[int, KernelRead]) -> Proposals:
    if not kernels:
        return Proposals()
    try:
        return run.toolchain.propose(kernels, run.request, run.patience(run.request.budget.solve_seconds))
    except StepFailed as error:
        # Out of time is an honest "unknown"; any other failure is for the caller to retry.
        if error.outcome not in (Outcome.TIMED_OUT, Outcome.SKIPPED):
            raise
        return Proposals(ended=error.failure.message)


def _nothing_known(candidate: str) -> Candidate | None:
    return None


def _build_all(run: _Run, plans: Sequence[BuildPlan], known: Callable[[str], Candidate | None], parallel: int) -> None:
    waiting: list[BuildPlan] = []
    kernels = {plan.id: plan.kernel for plan in plans}

    def ended(record: Candidate) -> None:
        run.ended(judged(record, kernels[record.id], run.request.profile, run.toolchain))

    for plan in plans:
        record = known(plan.id)
        if record is None:
            waiting.append(plan)
        else:
            asked = plan.candidate
            ended(replace(record, variant=asked.variant, params=asked.params, forecast_ns=asked.forecast_ns))
    with ThreadPoolExecutor(max_workers=parallel, thread_name_prefix="build") as pool:
        running: set[Future[Candidate]] = set()
        while waiting or running:
            while waiting and len(running) < parallel and not run.building_is_over():
                plan = waiting.pop(0)
                run.emit(StepStarted(plan.id, Step.COMPILE))
                # With this thread's context, so that logs and children of the step carry the job's trace.
                running.add(pool.submit(copy_context().run, build, run.request, plan, run.toolchain, run.patience))
            if not running:
                break
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for future in sorted(done, key=lambda f: f.result().id):
                ended(future.result())
    run.cut = run.cut or bool(waiting)
    for plan in waiting:
        run.ended(skipped(plan, run.stop.reason or "budget"))


def _measure_all(run: _Run, kernels: Mapping[int, KernelRead]) -> None:
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


def _confirm(run: _Run, checks: SizeChecks) -> None:
    """Check the presumptive winner at the kernel's other sizes, and the next one if it fails there."""
    while (best := best_of(tuple(run.records.values()))) is not None and checks.pending(best) and not run.over():
        run.emit(StepStarted(best.id, Step.MEASURE))
        run.ended(checks.confirmed(best, tuple(run.records.values())))


def _note(run: _Run, best: Candidate | None) -> str:
    """What the answer is based on; says so if a measured one should have been checked at other sizes and was not."""
    note = note_of(best)
    if best is None or best.measured_ns is None or best.kind is CandidateKind.UNSPECIALIZED:
        return note
    if not run.request.variants[best.variant].sizes or any(e["outcome"] == RIGHT for e in size_entries(best)):
        return note
    return f"{note}, not checked at another size"


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


def _ending(kernels: Mapping[int, KernelRead], proposals: Proposals) -> Ending:
    if not kernels:
        return Ending.NOT_APPLICABLE
    if proposals.candidates:
        return Ending.TUNED
    return Ending.UNKNOWN if proposals.unknown else Ending.INFEASIBLE
