"""The form "why not ...?" on a job page: the same explanation as the API's, for one of the job's variants."""

import time
from collections.abc import Mapping

from pydantic import JsonValue

from service.context import Context
from service.db import ReadSession
from service.db.models import Job, JobVariant, Profile
from service.errors import NotFound
from service.jobs import service as jobs
from service.tuning.toolchain import Patience, Stop
from solver.domain import HardwareProfile, Pins, load

__all__ = ["explain_for_job"]

ANSWER_SECONDS = 30.0


def explain_for_job(context: Context, job_id: str, variant: int, why: str) -> Mapping[str, JsonValue]:
    """The explanation of one choice.

    Raises:
        NotFound: ``job-not-found``, ``variant-not-found``.
        WarpwrightError: the choice names nothing in this kernel.
        StepFailed: the child that reads or solves failed.
    """
    text_digest, profile, pins = context.database.read(lambda session: _asked(session, job_id, variant))
    patience = Patience(ANSWER_SECONDS, time.monotonic() + ANSWER_SECONDS, Stop())
    kernel = context.toolchain.read(context.store.get(text_digest).decode(), profile, patience)
    return context.toolchain.explain(kernel, profile, pins, why, patience)


def _asked(session: ReadSession, job_id: str, number: int) -> tuple[str, HardwareProfile, Pins]:
    job: Job = jobs.find(session, job_id)
    variant, profile = session.get(JobVariant, (job_id, number)), session.get(Profile, job.profile_digest)
    if variant is None or profile is None:
        raise NotFound(f"job {job_id} has no variant {number}", code="variant-not-found")
    pins = job.request.get("pins")
    return variant.text_digest, load(HardwareProfile, profile.document), load(Pins, pins) if pins else Pins()
