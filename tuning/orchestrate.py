"""The orchestration: read, propose, verify, materialize, compile, measure, rank. No database, no HTTP, no clock but a budget.

Only verified schedules are lowered. A candidate that fails is a record with a reason; only a failure
of the whole tuning (no variant readable) ends it without an answer.
"""

import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from math import inf

from warpwright.solver.domain import (
    CandidateKind,
    Failure,
    NotApplicable,
    Outcome,
    Proposals,
    WarpwrightError,
)
from warpwright.tuning.building import Known, build_all, nothing_known
from warpwright.tuning.events import Event, Phase, PhaseEntered, Proposed, VariantRead
from warpwright.tuning.measuring import confirm, measure_built
from warpwright.tuning.outage import Outage
from warpwright.tuning.partial_reasons import words_of
from warpwright.tuning.planning import baselines, next_yardstick, plans_of
from warpwright.tuning.ranking import Ranking, ranking_of
from warpwright.tuning.request import TuneRequest
from warpwright.tuning.result import Ending, TuneResult, VariantReport
from warpwright.tuning.run import TuningRun
from warpwright.tuning.size_checks import RIGHT, SizeChecks, size_entries
from warpwright.tuning.toolchain import KernelRead, StepFailed, Stop, Toolchain

__all__ = ["tune"]

_READ_SECONDS = 60.0


def tune(
    request: TuneRequest,
    *,
    events: Callable[[Event], None],
    toolchain: Toolchain,
    stop: Stop | None = None,
    known: Known | None = None,
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
    announced = toolchain.announced(request.profile, deadline) if measures else nullcontext(_never)
    with announced as latest_start:
        run = TuningRun(request, toolchain, events, stop or Stop(), deadline, measures, latest_start)
        run.emit(PhaseEntered(Phase.SOLVING))
        kernels, variants, not_applicable = _read(run)
        proposals = Proposals(ended="stopped") if run.over() else _propose(run, kernels)
        if kernels or not_applicable:
            _build(run, kernels, proposals, 0 if not_applicable else min(kernels), known or nothing_known, parallel)
    # Asked again: a worker with the device may have started while the candidates were built.
    measures = measures or (request.measure and toolchain.measures(request.profile))
    if measures:
        measure_built(run, kernels)
        confirm(run, SizeChecks(request, toolchain, run.patience, parallel))
    missed = run.why_unmeasured() if measures else ""
    records = tuple(run.records.values())
    ranking = ranking_of(records)
    best = ranking.best
    return TuneResult(
        ending=_ending(run, kernels, proposals, not_applicable),
        best=best.id if best else None,
        candidates=records,
        variants=variants,
        rejected=proposals.rejected,
        partial=run.stop.is_raised() or run.cut or bool(missed),
        stopped_by=run.stop.reason or missed or ("budget" if run.cut else ""),
        note=_note(run, ranking, missed),
        failure=None if kernels else not_applicable,
    )


def _never() -> float:
    """When measuring must begin if nothing is measured: never."""
    return inf


def _build(
    run: TuningRun,
    kernels: Mapping[int, KernelRead],
    proposals: Proposals,
    first: int,
    known: Known,
    parallel: int,
) -> None:
    """Build the compiler's own choices for the variant ``first`` and the proposals; other variants' choices if these fit
    nowhere.
    """
    tried = {first}
    plans = plans_of(run.request, run.toolchain, kernels, proposals, first)
    run.total = len(plans)
    run.emit(Proposed(total=len(plans), rejected=len(proposals.rejected)))
    run.emit(PhaseEntered(Phase.BUILDING))
    build_all(run, plans, known, parallel)
    while (
        not run.building_is_over()
        and (variant := next_yardstick(tuple(run.records.values()), kernels, tried)) is not None
    ):
        tried.add(variant)
        choices = baselines(run.request, run.toolchain, kernels, variant)
        more = [plan for plan in choices if plan.id not in run.records]
        run.total += len(more)
        run.emit(Proposed(total=run.total, rejected=len(proposals.rejected)))
        build_all(run, more, known, parallel)


def _read(run: TuningRun) -> tuple[dict[int, KernelRead], tuple[VariantReport, ...], Failure | None]:
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
        except StepFailed as error:
            # Out of time is an honest "unknown"; any other failure is for the caller to retry.
            if error.outcome not in (Outcome.TIMED_OUT, Outcome.SKIPPED) or not run.over():
                raise
            break
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


def _propose(run: TuningRun, kernels: Mapping[int, KernelRead]) -> Proposals:
    if not kernels:
        return Proposals()
    try:
        return run.toolchain.propose(kernels, run.request, run.solve_patience())
    except StepFailed as error:
        # Out of time is an honest "unknown"; any other failure is for the caller to retry.
        if error.outcome not in (Outcome.TIMED_OUT, Outcome.SKIPPED):
            raise
        return Proposals(ended=error.failure.message)


def _note(run: TuningRun, ranking: Ranking, missed: str) -> str:
    """What the answer is based on; says so if something should have been measured, or checked at other sizes, and was not."""
    best, note = ranking.best, ranking.note
    if missed and best is not None and best.outcome is Outcome.COMPILED:
        return f"{note}: {words_of(missed)}"
    if best is None or best.measured_ns is None or best.kind is CandidateKind.UNSPECIALIZED:
        return note
    if not run.request.variants[best.variant].sizes or any(e["outcome"] == RIGHT for e in size_entries(best)):
        return note
    return f"{note}, not checked at another size"


def _ending(
    run: TuningRun, kernels: Mapping[int, KernelRead], proposals: Proposals, not_applicable: Failure | None
) -> Ending:
    if not kernels:
        return Ending.NOT_APPLICABLE if not_applicable else Ending.UNKNOWN
    if proposals.candidates or not run.request.budget.candidates:
        return Ending.TUNED
    return Ending.INFEASIBLE if proposals.infeasible else Ending.UNKNOWN
