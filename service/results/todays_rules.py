"""Whether today's rules refuse what was stored under others, or what the compiler would do by itself."""

from warpwright.service.app_context import Context
from warpwright.service.db.models import StoredResult
from warpwright.service.live_workers import READING, require_workers
from warpwright.service.profiles import service as profiles
from warpwright.service.results.schemas import LookupRequest
from warpwright.service.results.stored_answer import read_answer
from warpwright.solver.domain import CandidateKind, HardwareProfile, WarpwrightError
from warpwright.tuning.outage import Outage
from warpwright.tuning.toolchain import Patience, StepFailed
from warpwright.tuning.verify_baselines import refusal_of_choice

__all__ = ["refusal_of_default", "refusal_of_stored"]

READ_SECONDS = 60.0


def refusal_of_default(context: Context, ir: str, profile: HardwareProfile) -> str:
    """The rule that refuses the compiler's default of a kernel, in words; empty if none does, or the kernel is not one to which
    rules apply. What could not be checked now is not given out either.
    """
    try:
        require_workers(context.toolchain, READING)
        kernel = context.toolchain.read(ir, profile, Patience.alone(READ_SECONDS))
    except StepFailed as error:
        return f"it could not be held to today's rules: {error.failure.message}"
    except WarpwrightError as error:
        return f"it could not be held to today's rules: {error.message}" if isinstance(error, Outage) else ""
    return refusal_of_choice(kernel, CandidateKind.DEFAULT, profile, context.toolchain)


def refusal_of_stored(context: Context, request: LookupRequest, row: StoredResult) -> str:
    """Why a result that was found under another constraint set is not given out; empty if today's rules accept it."""
    stored = read_answer(row.answer)
    texts = [request.ir] if request.ir is not None else request.variants or []
    if stored.variant >= len(texts):
        return "only with the kernel's IR can it be held to today's rules"
    profile = context.database.read(lambda session: profiles.resolve(session, request.profile))
    try:
        kernel = context.toolchain.read(texts[stored.variant], profile, Patience.alone(READ_SECONDS))
        if stored.schedule is None:
            return refusal_of_choice(kernel, stored.kind, profile, context.toolchain)
        broken = context.toolchain.verify(kernel, profile, stored.schedule)
    except StepFailed as error:
        return f"it could not be held to today's rules: {error.failure.message}"
    return broken[0].words if broken else ""
