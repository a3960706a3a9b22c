"""``mode=now``: the best answer that is known at once, never something unproven.

In this order: a stored result; a schedule solved within seconds and accepted by the verifier; the compiler's own choice.
"""

from json import loads
from typing import Any

from warpwright.service.app_context import Context
from warpwright.service.errors import ServiceError
from warpwright.service.jobs.schemas import JobSubmission
from warpwright.service.results.schemas import LookupRequest
from warpwright.service.results.service import lookup
from warpwright.service.solve.schemas import SolveRequest
from warpwright.service.solve.service import solve
from warpwright.solver.domain import WarpwrightError

__all__ = ["answer_now"]

SECONDS = 5.0
WORK_LIMIT = 2_000


def answer_now(context: Context, submission: JobSubmission) -> dict[str, Any]:
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
            return {"source": "cache", "measured": row.measured, "result": loads(row.answer)}
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
        reason = {"code": error.code, "message": error.message}
        return {"source": "default", "measured": False, "reason": reason, "transient": isinstance(error, ServiceError)}
    if answer.schedule is None:
        return {"source": "default", "measured": False, "status": answer.status, "conflicts": answer.conflicts}
    return {"source": "solved", "measured": False, "variant": 0, **_schedule(answer.model_dump())}


def _schedule(answer: dict[str, Any]) -> dict[str, Any]:
    return {name: answer[name] for name in ("status", "schedule", "certificate", "ir_hash")}
