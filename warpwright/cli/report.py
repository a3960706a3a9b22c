"""``warpwright report JOB``: a job of a server, or of this machine's own service, as one self-contained page."""

import sys
from pathlib import Path

from solver.domain import HardwareProfile, documents
from warpwright.cli.connect import client_of
from warpwright.cli.exit_codes import ExitCode
from warpwright.client import Client
from warpwright.kernel_file import KernelFile, KernelVariant
from warpwright.remote import result_of_job
from warpwright.report import write_report

__all__ = ["run_report"]


def run_report(job_id: str, out: Path, server: str | None, token: str | None) -> ExitCode:
    """Writes the page.

    Raises:
        ServerError: no such job, or it failed as a whole.
    """
    with client_of(server, token) as client:
        job = client.job(job_id)
        result = result_of_job(client, job)
        profile: HardwareProfile = documents.load(HardwareProfile, client.profile(job.profile_digest).document)
        kernel = _kernel(client, job_id)
    out.parent.mkdir(parents=True, exist_ok=True)
    write_report(result, kernel, profile, out)
    sys.stdout.write(f"wrote {out}\n")
    return ExitCode.OK


def _kernel(client: Client, job_id: str) -> KernelFile:
    """The job's variants; the server keeps their IR as artifacts."""
    job = client.job(job_id)
    variants = tuple(
        KernelVariant(client.artifact(variant.ir_digest).decode(), dict(variant.params)) for variant in job.variants
    )
    return KernelFile(job.name, variants)
