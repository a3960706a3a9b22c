"""One candidate from plan to binary: verify, materialize, compile. The result is a record in every case."""

import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field

from warpwright.tuning.outage import Outage
from warpwright.tuning.request import TuneRequest
from warpwright.tuning.result import CandidateKind, CandidateRecord, Failure, Outcome, Product, Step
from warpwright.tuning.toolchain import Built, KernelRead, Patience, ProposedSchedule, StepFailed, Toolchain

__all__ = ["Plan", "build", "skipped"]


@dataclass(frozen=True, slots=True)
class Plan:
    """A candidate that is to be built. Baselines have no proposal; a kernel that no schedule can express has no graph."""

    id: str
    variant: int
    kind: CandidateKind
    kernel: KernelRead | None
    forecast_ns: float | None = None
    proposal: ProposedSchedule | None = None

    def record(self, outcome: Outcome, failure: Failure | None = None) -> CandidateRecord:
        """A record of this plan with an outcome and nothing else."""
        proposal = self.proposal
        return CandidateRecord(
            id=self.id,
            variant=self.variant,
            kind=self.kind,
            outcome=outcome,
            schedule=proposal.schedule if proposal else None,
            certificate=proposal.certificate if proposal else None,
            status=proposal.status if proposal else "",
            structure=dict(proposal.structure) if proposal else {},
            forecast_ns=self.forecast_ns,
            failure=failure,
        )


@dataclass(slots=True)
class _Progress:
    """The products of the steps so far."""

    seconds: dict[str, float] = field(default_factory=dict)
    products: list[Product] = field(default_factory=list)

    def onto(self, record: CandidateRecord, built: Built | None = None) -> CandidateRecord:
        return CandidateRecord(
            id=record.id,
            variant=record.variant,
            kind=record.kind,
            outcome=record.outcome,
            schedule=record.schedule,
            certificate=record.certificate,
            status=record.status,
            structure=record.structure,
            forecast_ns=record.forecast_ns,
            report=dict(built.report) if built else record.report,
            not_honoured=built.not_honoured if built else (),
            failure=record.failure,
            products=(*self.products, *(built.products if built else ())),
            seconds=dict(self.seconds),
        )


INFRASTRUCTURE_TRIES = 3
"""How often a candidate is built if the failures are not its own (a killed child, a machine out of memory)."""


def build(
    request: TuneRequest, plan: Plan, toolchain: Toolchain, patience: Callable[[float], Patience]
) -> CandidateRecord:
    """Build one plan; infrastructure failures are retried, failures of the candidate go into its record."""
    record = _build_once(request, plan, toolchain, patience)
    for _ in range(INFRASTRUCTURE_TRIES - 1):
        if record.outcome is not Outcome.INFRASTRUCTURE or patience(1.0).stop.is_raised():
            break
        if record.failure is not None and record.failure.code == "unexpected-error":
            break
        record = _build_once(request, plan, toolchain, patience)
    return record


def _build_once(
    request: TuneRequest, plan: Plan, toolchain: Toolchain, patience: Callable[[float], Patience]
) -> CandidateRecord:
    """Verify, materialize and compile one plan.

    The verifier stands before the lowering: a schedule with a violation is recorded as refused and never lowered.
    """
    progress = _Progress()
    step, started = Step.VERIFY, time.monotonic()
    try:
        ir = request.variants[plan.variant].ir
        if plan.proposal is not None and plan.kernel is not None:
            violations = toolchain.verify(plan.kernel, request.profile, plan.proposal.schedule)
            progress.seconds[step] = time.monotonic() - started
            if violations:
                first = violations[0]
                message = f"{first.family}: {first.message}" + (
                    f" (and {len(violations) - 1} more)" if violations[1:] else ""
                )
                failure = Failure("schedule-illegal", message, first.place or None)
                return progress.onto(plan.record(Outcome.REFUSED, failure))
            step, started = Step.MATERIALIZE, time.monotonic()
            written = toolchain.materialize(
                ir, plan.proposal.schedule, request.profile, patience(request.budget.compile_seconds)
            )
            progress.seconds[step] = time.monotonic() - started
            progress.products.extend(written.products)
            ir = written.ir
        step, started = Step.COMPILE, time.monotonic()
        schedule = plan.proposal.schedule if plan.proposal else None
        built = toolchain.compile(
            ir, plan.kind, schedule, request.profile, patience(request.budget.compile_seconds), request.build_options
        )
        progress.seconds[step] = time.monotonic() - started
    except StepFailed as error:
        progress.seconds[step] = time.monotonic() - started
        record = plan.record(error.outcome, error.failure)
        return progress.onto(record, Built(error.report, (), ()) if error.report else None)
    except Outage:
        raise  # nothing that a candidate did: the attempt ends, and the job waits
    except Exception as error:  # noqa: BLE001 - an unknown error of one candidate is a record, never the end of the job
        progress.seconds[step] = time.monotonic() - started
        failure = Failure("unexpected-error", f"{type(error).__name__}: {error}", detail=traceback.format_exc()[-8000:])
        return progress.onto(plan.record(Outcome.INFRASTRUCTURE, failure))
    if built.not_honoured:
        failure = Failure("not-honoured", "; ".join(built.not_honoured))
        return progress.onto(plan.record(Outcome.NOT_HONOURED, failure), built)
    return progress.onto(plan.record(Outcome.COMPILED if built.binary else Outcome.SOLVED), built)


def skipped(plan: Plan, reason: str) -> CandidateRecord:
    """The record of a plan that was never started."""
    return plan.record(Outcome.SKIPPED, Failure("stopped", f"not built: {reason or 'the job was stopped'}"))
