"""Tuning on this machine, without a server: the same orchestration the service runs, with its real toolchain."""

from collections.abc import Callable

from pydantic import JsonValue

from service.tuning import CandidateRecord, Event, TuneBudget, TuneRequest, TuneResult, Variant, tune
from service.tuning import Failure as TuningFailure
from service.tuning.ranking import ranked
from service.tuning.toolchain import Stop, Toolchain
from solver.domain import HardwareProfile, Pins
from warpwright.kernel_file import KernelFile
from warpwright.result import Candidate, Failure, Rejected, Result

__all__ = ["as_result", "tune_here"]


def tune_here(
    kernel: KernelFile,
    profile: HardwareProfile,
    *,
    budget: TuneBudget,
    engine: str = "cpsat",
    pins: Pins | None = None,
    measure: bool = True,
    events: Callable[[Event], None] | None = None,
    stop: Stop | None = None,
    toolchain: Toolchain | None = None,
    parallel: int | None = None,
) -> Result:
    """Tunes a kernel file's family here.

    Raises:
        WarpwrightError: the default variant was refused (bad IR, foreign code), or the profile lacks a number.
    """
    from lowering.children import available_cores

    request = TuneRequest(
        name=kernel.name,
        variants=tuple(Variant(variant.ir, dict(variant.params)) for variant in kernel.variants),
        profile=profile,
        pins=pins or Pins(),
        engine=engine,
        budget=budget,
        measure=measure,
    )
    answer = tune(
        request,
        events=events or _ignore,
        toolchain=toolchain or _real_toolchain(),
        stop=stop,
        parallel=parallel or available_cores(),
    )
    return as_result(answer, kernel=kernel.name, profile=profile.name)


def as_result(answer: TuneResult, *, kernel: str, profile: str) -> Result:
    """The orchestration's answer in the package's own types: usable candidates first, best first, then the others."""
    order = ranked(answer.candidates)
    rest = [record for record in answer.candidates if record not in order]
    params = {report.variant: report.params for report in answer.variants}
    candidates = {record.id: _candidate(record, dict(params.get(record.variant, {}))) for record in (*order, *rest)}
    refused = {report.variant: _failure(report.failure) for report in answer.variants if report.failure}
    if answer.failure is not None:
        refused.setdefault(0, _failure(answer.failure))
    return Result(
        kernel=next((report.kernel for report in answer.variants if report.kernel), kernel),
        profile=profile,
        ending=answer.ending.value,
        best=candidates.get(answer.best) if answer.best else None,
        candidates=tuple(candidates.values()),
        rejected=tuple(
            Rejected(
                entry.variant,
                entry.structure,
                tuple((conflict.family, conflict.message, conflict.relaxation) for conflict in entry.conflicts),
            )
            for entry in answer.rejected
        ),
        refused_variants=refused,
        note=answer.note,
        partial=answer.partial,
        stopped_by=answer.stopped_by,
    )


def _candidate(record: CandidateRecord, params: dict[str, JsonValue]) -> Candidate:
    return Candidate(
        id=record.id,
        kind=record.kind.value,
        outcome=record.outcome.value,
        variant=record.variant,
        params=params,
        status=record.status,
        schedule=record.schedule,
        certificate=record.certificate,
        structure=record.structure,
        forecast_ns=record.forecast_ns,
        measured_ns=record.measured_ns,
        report=record.report,
        not_honoured=record.not_honoured,
        failure=_failure(record.failure) if record.failure else None,
        seconds=record.seconds,
        products={product.name: product.data for product in record.products},
    )


def _failure(failure: TuningFailure) -> Failure:
    return Failure(failure.code, failure.message, failure.place, failure.detail)


def _ignore(event: Event) -> None:
    """For callers who want no progress."""
