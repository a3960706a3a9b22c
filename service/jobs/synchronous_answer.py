"""``mode=now``: the best answer that is known at once, never something unproven.

In this order: a stored result; a schedule solved within seconds and accepted by the verifier; the compiler's own choice, with the
rule that refuses it if one does.
"""

from warpwright.service.app_context import Context
from warpwright.service.errors import ServiceError
from warpwright.service.jobs.schemas import AnswerNow, JobSubmission
from warpwright.service.profiles import service as profiles
from warpwright.service.results.schemas import LookupRequest
from warpwright.service.results.service import lookup
from warpwright.service.results.stored_answer import read_answer
from warpwright.service.results.todays_rules import refusal_of_default
from warpwright.service.solve.schemas import SolveRequest
from warpwright.service.solve.service import solve
from warpwright.solver.domain import Failure, WarpwrightError

__all__ = ["answer_now"]

SECONDS = 5.0
WORK_LIMIT = 2_000


def answer_now(context: Context, submission: JobSubmission) -> AnswerNow:
    """What a build can use until the job has ended; ``source`` is ``cache``, ``solved`` or ``default``."""
    family = submission.family()
    try:
        found, row = lookup(
            context,
            LookupRequest(
                variants=[variant.ir for variant in family],
                profile=submission.profile,
                pins=submission.pins,
                build_options=submission.build_options,
            ),
        )
        if found.found and row is not None:
            return AnswerNow(source="cache", measured=row.measured, result=read_answer(row.answer))
        answer = solve(
            context,
            SolveRequest(
                ir=family[0].ir,
                profile=submission.profile,
                pins=submission.pins,
                engine=submission.engine,
                seed=submission.seed,
                work_limit=WORK_LIMIT,
                seconds=SECONDS,
            ),
        )
    except WarpwrightError as error:
        # The job is submitted and will give the same or a better answer; a build must get one that works now.
        return AnswerNow(
            source="default",
            measured=False,
            reason=Failure(error.code, error.message, error.place),
            transient=isinstance(error, ServiceError),
            refused=_refusal(context, submission),
        )
    if answer.schedule is None:
        return AnswerNow(
            source="default",
            measured=False,
            status=answer.status,
            conflicts=answer.conflicts,
            refused=_refusal(context, submission),
        )
    return AnswerNow(
        source="solved",
        measured=False,
        variant=0,
        ir_hash=answer.ir_hash,
        status=answer.status,
        schedule=answer.schedule,
        certificate=answer.certificate,
    )


def _refusal(context: Context, submission: JobSubmission) -> str:
    """The rule that refuses the compiler's default; empty if none does."""
    try:
        profile = context.database.read(lambda session: profiles.resolve(session, submission.profile))
    except WarpwrightError:
        return ""
    return refusal_of_default(context, submission.family()[0].ir, profile)
