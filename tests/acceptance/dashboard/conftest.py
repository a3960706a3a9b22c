"""A running service with jobs of every kind in it: measured, with losses, infeasible, with a hostile name."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from service.settings import Settings
from service.testing import StandInToolchain, new_ir
from service.testing.running import RunningService
from tests.acceptance.service.jobs_over_http import finished

HOSTILE = '<script>document.title="owned"</script>\'"&'


@dataclass(frozen=True)
class Shown:
    """The service and the ids of its jobs."""

    service: RunningService
    measured: str
    lossy: str
    impossible: str
    hostile: str


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shown]:
    settings = Settings(data=tmp_path_factory.mktemp("dashboard"), slow_artifact_sync=False, poll_seconds=0.1)
    with RunningService(settings, toolchain=StandInToolchain(device=True)) as running:

        def job(ir: str, name: str) -> str:
            answer = running.client.post("/v1/jobs", json={"ir": ir, "profile": "h200", "name": name})
            assert answer.status_code == 202, answer.text
            done = finished(running.client, answer.json()["id"])
            return str(done["id"])

        yield Shown(
            running,
            measured=job(new_ir(schedules=6), "gemm_bias_relu"),
            lossy=job(new_ir(schedules=6, faults={1: "not_honoured", 2: "over_resource"}), "attention_forward"),
            impossible=job(new_ir(infeasible=True), "too_large"),
            hostile=job(new_ir(schedules=2), HOSTILE),
        )
