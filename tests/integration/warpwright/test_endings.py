"""How a tuning ends that found no schedule: proven, or merely not found, as the command and the job tell it."""

import json
import time
from collections.abc import Callable
from pathlib import Path

from tests.integration.warpwright.conftest import Service
from warpwright.cli.exit_codes import ExitCode
from warpwright.service.testing import new_ir

ACTIVE = ("queued", "solving", "building", "measuring")


def test_no_schedule_wanted_is_an_answer_and_proves_nothing(start: Callable[..., Service], tmp_path: Path) -> None:
    """A feasible kernel ended as infeasible, because nothing had been asked about it."""
    code, answer = start().tune(new_ir(schedules=3), tmp_path, "-n", "0")
    assert (code, answer["ending"], answer["note"]) == (ExitCode.OK, "tuned", "measured")
    assert {c["kind"] for c in answer["candidates"]} == {"default", "role_based", "unspecialized"}
    assert answer["rejected"] == []


def test_nothing_found_is_not_proven(start: Callable[..., Service], tmp_path: Path) -> None:
    code, answer = start().tune(new_ir(schedules=0), tmp_path)
    assert (code, answer["ending"]) == (ExitCode.UNKNOWN, "unknown")


def test_what_every_proof_refutes_is_infeasible(start: Callable[..., Service], tmp_path: Path) -> None:
    code, answer = start().tune(new_ir(infeasible=True), tmp_path)
    assert (code, answer["ending"]) == (ExitCode.INFEASIBLE, "infeasible")
    assert answer["rejected"]


def test_a_budget_that_ends_before_the_kernel_is_read_is_a_partial_answer(start: Callable[..., Service]) -> None:
    """The job was failed with 'wall-time', where the documents say done and partial."""
    client = start().running.client
    line = json.dumps({"ir": new_ir(reading=3600.0), "profile": "h200", "seconds": 1.0})
    batch = client.post("/v1/batches", content=line).json()["id"]
    (item,) = client.get(f"/v1/batches/{batch}/items").json()["items"]
    until = time.monotonic() + 120.0
    while (job := client.get(f"/v1/jobs/{item['job']}", params={"wait": 10}).json())["state"] in ACTIVE:
        assert time.monotonic() < until
    assert (job["state"], job["ending"], job["error"]) == ("done", "unknown", None)
    assert (job["partial"], job["stopped_by"], job["best"]) == (True, "budget", None)
    assert "the time was up" in client.get(f"/jobs/{job['id']}").text
