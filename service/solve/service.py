"""Schedules without building. Stateless: nothing is stored, the same request gives the same answer."""

from warpwright.service.app_context import Context
from warpwright.service.errors import InvalidRequest, Unavailable
from warpwright.service.kernels.service import check_size
from warpwright.service.live_workers import SOLVING, require_workers
from warpwright.service.profiles import service as profiles
from warpwright.service.solve.schemas import SolveAnswer, SolveRequest
from warpwright.solver.domain import HardwareProfile, Infeasible, Outcome, Pins, Unknown, Verdict
from warpwright.solver.profiles.pin_domains import load_pins
from warpwright.tuning.toolchain import KernelRead, Patience, Solving, StepFailed

__all__ = ["solve"]

READ_SECONDS = 60.0
MARGIN_SECONDS = 10.0
"""Extra time of a solve for starting its child and reading its problem."""


def solve(context: Context, request: SolveRequest) -> SolveAnswer:
    """Solve one kernel, and explain one choice when asked.

    Raises:
        WarpwrightError: the IR, the profile, the pins or ``why`` are refused.
        Unavailable: the solver's child failed for a reason that the request did not cause.
    """
    check_size(request.ir, context.settings.max_ir_bytes, "/ir")
    profile = context.database.read(lambda session: profiles.resolve(session, request.profile))
    pins: Pins = load_pins(request.pins, profile, "/pins")
    require_workers(context.toolchain, SOLVING)
    solving = Solving(request.engine, request.seed, request.work_limit)
    try:
        kernel = context.toolchain.read(request.ir, profile, Patience.alone(READ_SECONDS))
        answer = _answer(context, kernel, profile, pins, solving, request.seconds)
        answer.pins = pins
        if request.why is not None:
            patience = Patience.alone(request.seconds + MARGIN_SECONDS)
            answer.explanation = dict(context.toolchain.explain(kernel, profile, pins, request.why, patience))
    except StepFailed as error:
        if error.outcome in (Outcome.INFRASTRUCTURE, Outcome.SKIPPED):
            raise Unavailable(f"the solver could not run: {error.failure.message}", code="solver-failed") from error
        raise InvalidRequest(
            f"the kernel crashed its reader or solver: {error.failure.message}", code="ir-unreadable"
        ) from error
    return answer


def _answer(
    context: Context, kernel: KernelRead, profile: HardwareProfile, pins: Pins, solving: Solving, seconds: float
) -> SolveAnswer:
    try:
        verdict = context.toolchain.solve(kernel, profile, pins, solving, Patience.alone(seconds + MARGIN_SECONDS))
    except StepFailed as error:
        if error.outcome is not Outcome.TIMED_OUT:
            raise
        # The child ignored its own limit and was killed: that says nothing about the kernel.
        verdict = Unknown(f"killed: {error.failure.message}", solving.engine, 0)
    return _described(verdict, kernel, profile)


def _described(verdict: Verdict, kernel: KernelRead, profile: HardwareProfile) -> SolveAnswer:
    answer = SolveAnswer(
        status=verdict.status, kernel=kernel.graph.name, ir_hash=kernel.ir_hash, profile_digest=profile.digest
    )
    if isinstance(verdict, Infeasible):
        answer.conflicts = verdict.conflicts
    elif isinstance(verdict, Unknown):
        answer.reason = verdict.reason
    else:
        answer.schedule = verdict.schedule
        answer.certificate = verdict.certificate
    return answer
