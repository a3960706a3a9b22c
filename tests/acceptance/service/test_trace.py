"""One request's trace id stands in the lines of the server, of the job's runner and of the children that worked for it."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.service.conftest import settings_for
from tests.acceptance.service.jobs_over_http import finished
from warpwright.service.outer_middleware import _trace_of
from warpwright.service.testing import new_ir
from warpwright.service.testing.running import RunningService

TRACE = "0af7651916cd43dd8448eb211c80319c"


def test_a_requests_trace_is_in_every_line_that_it_causes(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    settings = settings_for(tmp_path, toolchain="stand_in_children", log_format="json")
    with RunningService(settings) as service:
        job = service.client.post(
            "/v1/jobs",
            json={"ir": new_ir(schedules=1), "profile": "h200"},
            headers={"traceparent": f"00-{TRACE}-b7ad6b7169203331-01"},
        ).json()
        other = service.client.post("/v1/jobs", json={"ir": new_ir(schedules=0), "profile": "h200"}).json()
        for started in (job, other):
            finished(service.client, started["id"])
    lines: list[dict[str, Any]] = [
        json.loads(line) for line in capfd.readouterr().err.splitlines() if line.startswith("{")
    ]
    ours = [line for line in lines if line.get("trace") == TRACE]
    by_event = {line["event"]: line for line in ours}
    assert by_event["job-accepted"]["job"] == job["id"], "the server"
    assert by_event["attempt-started"]["job"] == job["id"], "the runner"
    assert by_event["job-ended"]["state"] == "done"
    tasks = {line["task"] for line in ours if line["event"] == "task-ended"}
    assert {"stand_in.read", "stand_in.propose", "stand_in.compile"} <= tasks, "the parents of the children"
    in_children = [line for line in ours if line["event"].startswith("compiles ")]
    assert len(in_children) == 4, "the children themselves: three baselines and one schedule"
    assert all(line["child"] != os.getpid() and line["job"] == job["id"] for line in in_children)
    assert all(line["level"] == "info" and line["timestamp"] for line in ours)
    theirs = [line for line in lines if line.get("job") == other["id"]]
    assert {line["trace"] for line in theirs} == {other["trace_id"]}
    assert other["trace_id"] != TRACE


@pytest.mark.parametrize(
    ("header", "taken"),
    [
        (f"00-{TRACE}-b7ad6b7169203331-01", True),
        (f"cc-{TRACE}-b7ad6b7169203331-00", True),
        (f"cc-{TRACE}-b7ad6b7169203331-00-what-later-versions-add", True),
        (f"00-{TRACE}-b7ad6b7169203331", False),
        (f"00-{TRACE}\xe9-b7ad6b7169203331-01", False),
        (f"ff-{TRACE}-b7ad6b7169203331-01", False),
        (f"00-{'0' * 32}-b7ad6b7169203331-01", False),
        (f"00-{TRACE}-{'0' * 16}-01", False),
        (f"00-{TRACE.upper()}-b7ad6b7169203331-01", False),
        (f"00-{TRACE[1:]}-b7ad6b7169203331-01", False),
        ("", False),
    ],
)
def test_a_traceparent_is_taken_when_it_is_valid(header: str, taken: bool) -> None:
    trace = _trace_of({b"traceparent": header.encode("latin-1")})
    assert (trace == TRACE) is taken
    assert len(trace) == 32
    assert trace != "0" * 32
