"""``warpwright report JOB``: a job of a server, or of this machine's own service, as one self-contained page."""

import sys
from pathlib import Path

from warpwright.cli.connect import client_of
from warpwright.cli.exit_codes import ExitCode
from warpwright.cli.inputs import writable_file

__all__ = ["run_report"]


def run_report(job_id: str, out: Path, server: str | None, token: str | None) -> ExitCode:
    """Writes the page.

    Raises:
        ServerError: no such job.
    """
    writable_file(out)
    with client_of(server, token) as client:
        page = client.report(job_id)
    out.write_text(page, "utf-8")
    sys.stdout.write(f"wrote {out}\n")
    return ExitCode.OK
