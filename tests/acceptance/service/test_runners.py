"""What the task runners promise beyond the tests that run on all of them: machines that die, work that is not done twice.

Nothing here runs on the plain stand-in, which has no runner.
"""

import json
import threading
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.acceptance.service.jobs_over_http import candidates, finished, submit
from warpwright.service.testing import StandInToolchain, new_ir
from warpwright.service.testing.farm import TemporaryFarm


@pytest.fixture
def mortal(on_celery: None, farm: TemporaryFarm) -> Iterator[TemporaryFarm]:
    """The farm, to lose a worker in this test; there are as many as before when it is over."""
    alive = sum(worker.is_alive() for worker in farm.workers)
    yield farm
    while sum(worker.is_alive() for worker in farm.workers) < alive:
        farm.start_worker()


def log_of(client: httpx.Client, job_id: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = client.get(f"/v1/jobs/{job_id}/log", params={"limit": 200}).json()["items"]
    return items


def outcomes(client: httpx.Client, job_id: str, outcome: str) -> list[str]:
    """Ids of the candidates by the events that gave them this outcome, in order."""
    told = [event["data"] for event in log_of(client, job_id) if event["kind"] == "candidate"]
    return [data["id"] for data in told if data["outcome"] == outcome]


def test_a_batch_outlives_a_worker_that_is_killed(start: Any, mortal: TemporaryFarm) -> None:
    tools = StandInToolchain()
    client = start(tools, job_slots=2).client
    lines = [json.dumps({"ir": new_ir(schedules=1, seconds=0.15), "profile": "h200"}) for _ in range(4)]
    batch = client.post("/v1/batches", content="\n".join(lines).encode()).json()
    killed: list[str] = []
    killer = threading.Thread(target=lambda: killed.append(mortal.kill_a_busy_one()))
    time.sleep(0.5)
    killer.start()
    items = client.get(f"/v1/batches/{batch['id']}/items").json()["items"]
    for job in {item["job"] for item in items}:
        done = finished(client, job)
        assert (done["state"], done["attempt"], done["total"]) == ("done", 1, 4)
        assert {each["outcome"] for each in candidates(client, job)} == {"compiled"}
        built = outcomes(client, job, "compiled")
        assert len(built) == len(set(built)) == 4
    killer.join()
    assert killed != [""]


def test_a_session_whose_worker_dies_is_given_out_again_and_counts_once(start: Any, mortal: TemporaryFarm) -> None:
    client = start(StandInToolchain(device=True)).client
    job = submit(client, new_ir(schedules=2, seconds=0.5))
    until = time.monotonic() + 240.0
    while len(outcomes(client, job["id"], "measured")) < 2:
        assert time.monotonic() < until, log_of(client, job["id"])
        time.sleep(0.02)
    assert client.get(f"/v1/jobs/{job['id']}").json()["state"] == "measuring"
    assert mortal.kill_a_busy_one()
    done = finished(client, job["id"])
    assert (done["state"], done["note"], done["attempt"]) == ("done", "measured", 1)
    assert (done["done"], done["total"]) == (5, 5)
    found = candidates(client, job["id"])
    assert [each["outcome"] for each in found] == ["measured"] * 5
    assert len({each["id"] for each in found}) == 5
    assert done["winner"]["kind"] == "scheduled"
    built = outcomes(client, job["id"], "compiled")
    assert len(built) == len(set(built)) == 5, "what was built before the worker died is not built again"


def test_a_measurement_comes_from_the_binary_that_was_built(start: Any) -> None:
    client = start(StandInToolchain(device=True)).client
    job = finished(client, submit(client, new_ir(schedules=2, better=0.5))["id"])
    assert job["note"] == "measured"
    for each in candidates(client, job["id"]):
        binary = client.get(f"/v1/artifacts/{each['artifacts']['binary']}").content
        script = json.loads(binary.partition(b" ")[2])
        assert each["measured_ns"] == pytest.approx(script["ns"])
        assert each["measurement"]["protocol"] == "gpu-1"
        assert each["measurement"]["device"]["name"] == "simulated H200"


def test_without_a_worker_for_the_device_the_answer_is_compiled(start: Any, on_celery: None) -> None:
    client = start(StandInToolchain(device=True)).client
    job = finished(client, submit(client, new_ir(schedules=1), profile="h100")["id"])
    assert (job["state"], job["note"]) == ("done", "compiled, not measured")
