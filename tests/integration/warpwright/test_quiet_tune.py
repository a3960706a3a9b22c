"""A command line tool prints its answer, not the log of the service inside it."""

import contextlib
import io
import sys
from pathlib import Path

import pytest

from warpwright.embedded import embedded_client
from warpwright.service.jobs.schemas import JobSubmission
from warpwright.service.settings import Settings
from warpwright.service.testing import StandInToolchain, new_ir


def test_a_job_of_the_embedded_service_logs_nothing_that_went_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard = io.StringIO()
    monkeypatch.setattr(sys, "stderr", heard)
    with (
        contextlib.redirect_stdout(heard),
        embedded_client(Settings(data=tmp_path / "data"), toolchain=StandInToolchain()) as client,
    ):
        job = client.submit(JobSubmission(ir=new_ir(), profile="h200"))
        assert client.wait(job.id, seconds=240.0).state == "done"
    assert "info" not in heard.getvalue(), heard.getvalue()
