"""NaN and infinity from a device are null and a reason everywhere, and never win (bug case 89)."""

import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.acceptance.service.conftest import settings_for
from tests.acceptance.service.jobs_over_http import candidates, finished
from warpwright.service.testing import StandInToolchain, new_ir
from warpwright.service.testing.running import RunningService
from warpwright.solver.domain import CandidateKind, HardwareProfile
from warpwright.tuning.toolchain import Contestant, Measurement, Patience, StepFailed

NUMBERS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf, "negative": -1.0}


class Confused(StandInToolchain):
    """A device whose times of our own candidates are no times."""

    def __init__(self, time_ns: float) -> None:
        super().__init__(device=True)
        self.time_ns = time_ns

    def measure(
        self, candidates: Sequence[Contestant], irs: Sequence[str], profile: HardwareProfile, patience: Patience
    ) -> Iterator[tuple[str, Measurement | StepFailed]]:
        kinds = {each.candidate.id: each.candidate.kind for each in candidates}
        for candidate, measured in super().measure(candidates, irs, profile, patience):
            if kinds[candidate] is CandidateKind.SCHEDULED:
                yield candidate, Measurement(self.time_ns, {"spread_ns": math.nan, "clocks": [math.inf, 1.0]})
            else:
                yield candidate, measured


def strict(text: str) -> Any:
    """JSON as the standard has it."""
    return json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} left the service"))


@pytest.mark.parametrize("kind", NUMBERS)
def test_what_is_no_time_is_null_with_a_reason_and_never_wins(tmp_path: Path, kind: str) -> None:
    with RunningService(settings_for(tmp_path), toolchain=Confused(NUMBERS[kind])) as service:
        tune_and_read_everything(service.client)


def tune_and_read_everything(client: httpx.Client) -> None:
    ir = new_ir(schedules=2)
    batch = client.post("/v1/batches", content=json.dumps({"ir": ir, "profile": "h200"})).json()
    job_id = client.get(f"/v1/batches/{batch['id']}/items").json()["items"][0]["job"]
    job = finished(client, job_id)
    assert job["winner"]["kind"] == "default"
    assert job["note"] == "measured"
    for row in candidates(client, job_id, kind="scheduled"):
        assert row["measured_ns"] is None
        assert row["outcome"] != "measured"
        assert row["failure"]["code"] == "time-not-finite"
        detail = strict(client.get(f"/v1/jobs/{job_id}/candidates/{row['id']}").text)
        assert detail["measurement"]["spread_ns"] is None
        assert detail["measurement"]["not_finite"] == ["spread_ns", "clocks[0]"]
    for path in ("", "/candidates", "/log", "/candidates?kind=scheduled"):
        strict(client.get(f"/v1/jobs/{job_id}{path}").text)
    with client.stream("GET", f"/v1/jobs/{job_id}/events") as stream:
        events = [strict(line[6:]) for line in stream.iter_lines() if line.startswith("data: ")]
    codes = [e["data"]["code"] for e in events if e["kind"] == "candidate" and e["data"]["kind"] == "scheduled"]
    assert codes.count("time-not-finite") == 2
    strict(client.post("/v1/results:lookup", json={"ir": ir, "profile": "h200"}).text)
    for line in client.get(f"/v1/batches/{batch['id']}/results").text.splitlines():
        strict(line)
    assert "nan" not in client.get(f"/v1/batches/{batch['id']}/results?format=csv").text.lower()
    assert "nan" not in client.get(f"/jobs/{job_id}").text.lower().split("<script")[0].replace("nanosecond", "")
