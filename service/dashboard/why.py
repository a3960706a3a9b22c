"""The form "Why not ...?" on a job page: the same explanation as the API's, for one of the job's variants."""

from collections.abc import Mapping

from warpwright.service.app_context import Context
from warpwright.service.dashboard.variant_loader import kernel_of, patience, variant_of

__all__ = ["explain_for_job"]


def explain_for_job(context: Context, job_id: str, number: int, why: str) -> Mapping[str, object]:
    """The explanation of one choice.

    Raises:
        NotFound: ``job-unknown``, ``variant-unknown``.
        WarpwrightError: the choice names nothing in this kernel.
        StepFailed: the child that reads or solves failed.
    """
    variant = context.database.read(lambda session: variant_of(session, job_id, number))
    kernel = kernel_of(context, variant)
    return context.toolchain.explain(kernel, variant.profile, variant.pins, why, patience())
