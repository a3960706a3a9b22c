"""One candidate from plan to binary: verify, materialize, compile. The result is the candidate with an outcome in every case."""

import time
import traceback
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace

from warpwright.solver.domain import Candidate, Failure, Outcome, WarpwrightError
from warpwright.tuning.outage import Outage
from warpwright.tuning.request import TuneRequest
from warpwright.tuning.result import Step
from warpwright.tuning.roofline import ROOFLINE, roofline_of
from warpwright.tuning.roofline_floor import FLOOR, floor_ns
from warpwright.tuning.toolchain import Built, KernelRead, Patience, StepFailed, Toolchain

__all__ = ["BuildPlan", "build", "skipped"]


@dataclass(frozen=True, slots=True)
class BuildPlan:
    """A candidate to be built, and its kernel; a kernel that no schedule can express has no graph."""

    candidate: Candidate
    kernel: KernelRead | None

    @property
    def id(self) -> str:
        """The candidate's value."""
        return self.candidate.id

    def ended(self, outcome: Outcome, failure: Failure | None = None) -> Candidate:
        """The candidate with an outcome and nothing else."""
        return replace(self.candidate, outcome=outcome, failure=failure)


@dataclass(slots=True)
class _Progress:
    """The products of the steps so far."""

    seconds: dict[str, float] = field(default_factory=dict)
    products: dict[str, bytes] = field(default_factory=dict)

    def onto(self, candidate: Candidate, built: Built | None = None) -> Candidate:
        return replace(
            candidate,
            report=dict(built.report) if built else candidate.report,
            forecast_cycles=_cycles(built) if built else candidate.forecast_cycles,
            not_honoured=built.not_honoured if built else (),
            products={**self.products, **(built.products if built else {})},
            seconds=dict(self.seconds),
        )


def _cycles(built: Built) -> int | None:
    """Cycles of the kernel that was lowered, where its cost model counts in cycles."""
    found = built.report.get("total_cycles")
    return found if isinstance(found, int) else None


SOURCE_SECONDS = 60.0
INFRASTRUCTURE_TRIES = 3
"""How often a candidate is built if the failures are not its own (a killed child, a machine out of memory)."""


def build(
    request: TuneRequest, plan: BuildPlan, toolchain: Toolchain, patience: Callable[[float], Patience]
) -> Candidate:
    """Build one plan; infrastructure failures are retried, failures of the candidate go into its outcome."""
    candidate = _build_once(request, plan, toolchain, patience)
    for _ in range(INFRASTRUCTURE_TRIES - 1):
        if candidate.outcome is not Outcome.INFRASTRUCTURE or patience(1.0).stop.is_raised():
            break
        if candidate.failure is not None and candidate.failure.code == "unexpected-error":
            break
        candidate = _build_once(request, plan, toolchain, patience)
    return candidate


def _build_once(
    request: TuneRequest, plan: BuildPlan, toolchain: Toolchain, patience: Callable[[float], Patience]
) -> Candidate:
    """Verify, materialize and compile one plan.

    The verifier runs before the lowering: a schedule with a violation is refused and never lowered.
    """
    progress, candidate = _Progress(), plan.candidate
    step, started = Step.VERIFY, time.monotonic()
    try:
        ir = request.variants[candidate.variant].ir
        if candidate.schedule is not None and plan.kernel is not None:
            violations = toolchain.verify(plan.kernel, request.profile, candidate.schedule)
            progress.seconds[step] = time.monotonic() - started
            if violations:
                first = violations[0]
                message = f"{first.family}: {first.message}" + (
                    f" (and {len(violations) - 1} more)" if violations[1:] else ""
                )
                failure = Failure("schedule-illegal", message, first.place or None)
                return progress.onto(plan.ended(Outcome.REFUSED, failure))
            step, started = Step.MATERIALIZE, time.monotonic()
            written = toolchain.materialize(
                ir, candidate.schedule, request.profile, patience(request.budget.compile_seconds)
            )
            progress.seconds[step] = time.monotonic() - started
            progress.products.update(written.products)
            ir = written.ir
        step, started = Step.COMPILE, time.monotonic()
        built = toolchain.compile(
            ir,
            candidate.kind,
            candidate.schedule,
            request.profile,
            patience(request.budget.compile_seconds),
            request.build_options,
        )
        progress.seconds[step] = time.monotonic() - started
    except StepFailed as error:
        progress.seconds[step] = time.monotonic() - started
        if error.outcome is Outcome.TIMED_OUT and patience(request.budget.compile_seconds).is_over:
            # The job's time ended, not the step's own: nothing was learnt about the candidate.
            return progress.onto(plan.ended(Outcome.SKIPPED, error.failure))
        ended = plan.ended(error.outcome, error.failure)
        return progress.onto(ended, Built(error.report, (), {}) if error.report else None)
    except Outage:
        raise  # nothing that a candidate did: the attempt ends, and the job waits
    except Exception as error:  # noqa: BLE001 - an unknown error of one candidate is its outcome, never the end of the job
        progress.seconds[step] = time.monotonic() - started
        failure = Failure("unexpected-error", f"{type(error).__name__}: {error}", detail=traceback.format_exc()[-8000:])
        return progress.onto(plan.ended(Outcome.INFRASTRUCTURE, failure))
    if plan.kernel is not None:
        known = {
            FLOOR: floor_ns(plan.kernel.graph, request.profile),
            ROOFLINE: asdict(roofline_of(plan.kernel.graph, request.profile)),
        }
        built = replace(built, report={**built.report, **known})
    if candidate.schedule is None and plan.kernel is not None:
        progress.products |= _plain_source(request, candidate, built, toolchain, patience)
    if built.not_honoured:
        failure = Failure("not-honoured", "; ".join(built.not_honoured))
        return progress.onto(plan.ended(Outcome.NOT_HONOURED, failure), built)
    return progress.onto(plan.ended(Outcome.COMPILED if built.binary else Outcome.SOLVED), built)


def _plain_source(
    request: TuneRequest,
    candidate: Candidate,
    built: Built,
    toolchain: Toolchain,
    patience: Callable[[float], Patience],
) -> dict[str, bytes]:
    """The source of the compiler's own choice, for people; a build does not depend on it.

    Where the build was repaired, the source is too, or there is none.
    """
    ir = request.variants[candidate.variant].ir
    try:
        source = toolchain.plain_source(
            ir,
            candidate.kind,
            request.profile,
            patience(SOURCE_SECONDS),
            fenced=bool(built.report.get("fences_added")),
        )
    except (StepFailed, WarpwrightError):
        return {}
    return {"plain_source": source.encode()} if source else {}


def skipped(plan: BuildPlan, reason: str) -> Candidate:
    """The candidate of a plan that was never started."""
    return plan.ended(Outcome.SKIPPED, Failure("stopped", f"not built: {reason or 'the job was stopped'}"))
