"""Loads one variant of a job with its kernel, device and pins. One loader for all pages."""

from dataclasses import dataclass
from functools import lru_cache

from warpwright.service.app_context import Context
from warpwright.service.db import ReadSession
from warpwright.service.db.models import JobVariant, Profile
from warpwright.service.errors import NotFound
from warpwright.service.jobs import service as jobs
from warpwright.solver.domain import HardwareProfile, Pins, load
from warpwright.tuning.toolchain import KernelRead, Patience

__all__ = ["LoadedVariant", "kernel_of", "patience", "variant_of"]

SECONDS = 30.0
"""How long a page waits for a child that reads or solves."""
REMEMBERED = 64


@dataclass(frozen=True, slots=True)
class LoadedVariant:
    """One variant of a job: the digest of its IR, the job's device and pins."""

    text_digest: str
    profile: HardwareProfile
    pins: Pins


def variant_of(session: ReadSession, job_id: str, number: int) -> LoadedVariant:
    """A job's variant.

    Raises:
        NotFound: ``job-unknown``, ``variant-unknown``.
    """
    job = jobs.find(session, job_id)
    row, profile = session.get(JobVariant, (job_id, number)), session.get(Profile, job.profile_digest)
    if row is None or profile is None:  # a foreign key keeps a job's profile as long as the job
        raise NotFound(f"job {job_id} has no variant {number}", code="variant-unknown")
    pins = job.request.get("pins")
    return LoadedVariant(row.text_digest, load(HardwareProfile, profile.document), load(Pins, pins) if pins else Pins())


def kernel_of(context: Context, variant: LoadedVariant) -> KernelRead:
    """The variant as the frontend reads it, in a child; recent ones are cached.

    Raises:
        NotFound: ``artifact-unknown``: its IR is gone.
        WarpwrightError: the frontend refuses it.
        StepFailed: the child failed or took too long.
    """
    return _read(context, variant.text_digest, variant.profile)


def patience() -> Patience:
    """The time limit of one page."""
    return Patience.alone(SECONDS)


@lru_cache(maxsize=REMEMBERED)
def _read(context: Context, text_digest: str, profile: HardwareProfile) -> KernelRead:
    return context.toolchain.read(context.store.get(text_digest).decode(), profile, patience())
