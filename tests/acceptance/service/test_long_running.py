"""Jobs as long-running operations: cancellation, budgets, waiting, events, restarts, idempotency, sharing."""

import json
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.acceptance.service.jobs_over_http import candidates, finished, submit
from warpwright.service.testing import StandInToolchain, new_ir


def events(response: httpx.Response) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """(id, kind, document) of every event of a stream."""
    number, kind = 0, ""
    for line in response.iter_lines():
        if line.startswith("id: "):
            number = int(line[4:])
        elif line.startswith("event: "):
            kind = line[7:]
        elif line.startswith("data: "):
            yield number, kind, json.loads(line[6:])


def wait_until_running(client: httpx.Client, job_id: str) -> None:
    while client.get(f"/v1/jobs/{job_id}").json()["state"] != "building":
        time.sleep(0.01)


def test_a_cancelled_job_stops_at_its_step_and_keeps_a_partial_answer(start: Any) -> None:
    """The second candidate's step would hang for ever: only the cancellation ends it."""
    client = start().client
    job = submit(client, new_ir(schedules=3, faults={1: "hang"}))
    while len(candidates(client, job["id"])) < 3:  # the reference, the compiler's default, the first proposal
        time.sleep(0.02)
    assert client.post(f"/v1/jobs/{job['id']}:cancel").json()["cancel_requested"] is True
    ended = finished(client, job["id"])
    assert (ended["state"], ended["partial"], ended["stopped_by"]) == ("cancelled", True, "cancelled")
    assert ended["best"] is not None
    outcomes = [c["outcome"] for c in candidates(client, job["id"], kind="scheduled")]
    assert outcomes == ["compiled", "skipped", "skipped"]


def test_a_queued_job_is_cancelled_at_once(start: Any) -> None:
    client = start(job_slots=0).client
    job = submit(client, new_ir())
    ended = client.post(f"/v1/jobs/{job['id']}:cancel").json()
    assert (ended["state"], ended["partial"]) == ("cancelled", True)
    assert client.post(f"/v1/jobs/{job['id']}:cancel").json()["state"] == "cancelled"


@pytest.mark.parametrize("delay", [0.0, 0.001, 0.01, 0.1])
def test_cancellation_at_any_moment_ends_the_job(client: httpx.Client, delay: float) -> None:
    jobs = [submit(client, new_ir(schedules=2, seconds=0.03))["id"] for _ in range(3)]
    time.sleep(delay)
    for job in jobs:
        client.post(f"/v1/jobs/{job}:cancel")
    for job in jobs:
        assert finished(client, job)["state"] in ("cancelled", "done")


def test_a_budget_ends_the_job_with_a_valid_partial_answer(client: httpx.Client) -> None:
    for seconds in (1.0, 5.0, 25.0, 125.0):  # until the budget is enough for the compiler's own choices
        job = finished(client, submit(client, new_ir(schedules=2, faults={0: "hang"}), seconds=seconds)["id"])
        assert (job["state"], job["partial"], job["stopped_by"]) == ("done", True, "budget")
        if job["winner"] is not None:
            break
    assert job["winner"]["kind"] == "default"
    again = submit(client, new_ir())
    assert again["id"] != job["id"]


def test_efforts_are_budgets(start: Any) -> None:
    client = start(job_slots=0).client
    quick = submit(client, new_ir(), effort="quick")
    thorough = submit(client, new_ir(), effort="thorough", candidates=5)
    assert quick["budget"]["candidates"] < 8
    assert thorough["budget"]["candidates"] == 5
    assert thorough["budget"]["wall_seconds"] > quick["budget"]["wall_seconds"]


def test_waiting_returns_at_the_end_or_at_the_limit(start: Any) -> None:
    client = start().client
    job = submit(client, new_ir(schedules=1, faults={0: "hang"}))
    begun = time.monotonic()
    early = client.get(f"/v1/jobs/{job['id']}", params={"wait": 0.1}).json()
    assert time.monotonic() - begun >= 0.1
    assert early["state"] not in ("done", "failed")
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(client.get, f"/v1/jobs/{job['id']}", params={"wait": 60})
        client.post(f"/v1/jobs/{job['id']}:cancel")
        assert waiting.result().json()["state"] == "cancelled", "who waits is told of the end"


def test_events_come_in_order_and_resume_where_they_stopped(client: httpx.Client) -> None:
    job = submit(client, new_ir(schedules=2))
    with client.stream("GET", f"/v1/jobs/{job['id']}/events") as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        assert response.headers["x-accel-buffering"] == "no"
        assert "no-transform" in response.headers["cache-control"]
        seen = list(events(response))
    assert [number for number, _, _ in seen] == list(range(1, len(seen) + 1))
    kinds = [kind for _, kind, _ in seen]
    assert kinds.count("candidate") == 5
    assert [e["data"]["state"] for _, kind, e in seen if kind == "state"] == ["queued", "solving", "building", "done"]
    numbers = [e["data"]["number"] for _, kind, e in seen if kind == "candidate"]
    assert numbers == [1, 2, 3, 4, 5], "a candidate's own number is not the event's"
    with client.stream("GET", f"/v1/jobs/{job['id']}/events", headers={"last-event-id": "4"}) as response:
        rest = list(events(response))
    assert rest == seen[4:]
    listed = client.get(f"/v1/jobs/{job['id']}/log", params={"limit": 200}).json()["items"]
    assert listed == [event for _, _, event in seen], "polling gives the same documents"


def test_streams_that_are_dropped_leave_nothing_open(start: Any) -> None:
    service = start(job_slots=0, max_streams=8)
    job = submit(service.client, new_ir())

    def drop(_: int) -> int:
        with service.client.stream("GET", f"/v1/jobs/{job['id']}/events") as stream:
            return int(stream.status_code)

    with ThreadPoolExecutor(8) as pool:
        statuses = list(pool.map(drop, range(40)))
    assert set(statuses) <= {200, 429}
    until = time.monotonic() + 60
    while (service.app.state.streams.open or service.context.bulletin.waiting) and time.monotonic() < until:
        time.sleep(0.05)
    assert (service.app.state.streams.open, service.context.bulletin.waiting) == (0, 0)
    with service.client.stream("GET", f"/v1/jobs/{job['id']}/events") as response:
        assert response.status_code == 200


def test_a_stream_holds_no_database_connection(start: Any) -> None:
    service = start(job_slots=0)
    job = submit(service.client, new_ir())
    with service.client.stream("GET", f"/v1/jobs/{job['id']}/events") as response:
        next(events(response))
        time.sleep(0.3)
        pool = service.context.database.engine.pool
        busy: list[int] = []
        for _ in range(20):
            busy.append(pool.checkedout())
            time.sleep(0.01)
        assert 0 in busy, "a connection that the stream held would be out at every look"


def test_a_job_survives_a_restart_and_does_nothing_twice(start: Any) -> None:
    tools = StandInToolchain()
    first = start(tools)
    job = submit(first.client, new_ir(schedules=4, seconds=0.15))
    while len(candidates(first.client, job["id"])) < 2:
        time.sleep(0.02)
    first.__exit__(None, None, None)
    done_before = list(tools.compiled)
    second = start(tools)
    ended = finished(second.client, job["id"])
    assert (ended["state"], ended["attempt"]) == ("done", 2)
    assert [a["ending"] for a in ended["attempts"]] == ["shutdown", "done"]
    assert len(candidates(second.client, job["id"])) == 7
    assert len(tools.compiled) == len(set(tools.compiled)) == 7
    assert len(done_before) >= 2


def test_a_job_is_durable_before_the_reply(start: Any) -> None:
    first = start(job_slots=0)
    job = submit(first.client, new_ir())
    first.__exit__(None, None, None)
    assert finished(start().client, job["id"])["state"] == "done"


def test_fifty_equal_posts_with_one_key_are_one_job(client: httpx.Client) -> None:
    body = {"ir": new_ir(schedules=0), "profile": "h200", "fresh": True}

    def post(_: int) -> tuple[int, str]:
        response = client.post("/v1/jobs", json=body, headers={"idempotency-key": "fifty"})
        return response.status_code, response.json().get("id", response.text)

    with ThreadPoolExecutor(10) as pool:
        answers = list(pool.map(post, range(50)))
    assert {status for status, _ in answers} <= {200, 202}
    assert len({job for _, job in answers}) == 1
    assert [status for status, _ in answers].count(202) == 1


def test_a_key_with_another_body_is_a_conflict(client: httpx.Client) -> None:
    headers = {"idempotency-key": "conflict"}
    assert client.post("/v1/jobs", json={"ir": new_ir(), "profile": "h200"}, headers=headers).status_code == 202
    other = client.post("/v1/jobs", json={"ir": new_ir(), "profile": "h200"}, headers=headers)
    assert (other.status_code, other.json()["code"]) == (409, "idempotency-key-reused")


def test_mode_now_answers_at_once_and_names_the_job_for_the_better_answer(client: httpx.Client) -> None:
    ir = new_ir(schedules=2)
    begun = submit(client, ir, mode="now")
    assert begun["now"]["source"] == "solved"
    assert begun["now"]["schedule"]["schema"] == "warpwright.warp-schedule/1"
    assert begun["now"]["measured"] is False
    done = finished(client, begun["id"])
    cached = submit(client, ir, mode="now", fresh=True)
    assert cached["now"]["source"] == "cache"
    assert cached["now"]["result"]["candidate"] == done["best"]
    impossible = submit(client, new_ir("infeasible", infeasible=True), mode="now")
    assert impossible["now"]["source"] == "default"
    assert impossible["now"]["conflicts"][0]["family"] == "shared_memory"


def test_a_client_that_hangs_up_loses_nothing(start: Any) -> None:
    service = start()
    ir = new_ir(schedules=1, seconds=0.05)

    def post() -> None:
        try:
            service.client.post("/v1/jobs", json={"ir": ir, "profile": "h200"}, timeout=0.03)
        except httpx.TimeoutException:
            return

    thread = threading.Thread(target=post)
    thread.start()
    thread.join()
    until = time.monotonic() + 10
    while time.monotonic() < until:
        jobs = service.client.get("/v1/jobs").json()["items"]
        if jobs and jobs[0]["state"] == "done":
            return
        time.sleep(0.05)
    # The reply may be cut off before the job was written; then the retry makes it, and only one.
    assert finished(service.client, submit(service.client, ir)["id"])["state"] == "done"
    assert len(service.client.get("/v1/jobs").json()["items"]) == 1


def test_an_ended_job_can_be_deleted_and_a_running_one_not(start: Any) -> None:
    client = start().client
    job = submit(client, new_ir(schedules=1, faults={0: "hang"}))
    wait_until_running(client, job["id"])
    refused = client.delete(f"/v1/jobs/{job['id']}")
    assert (refused.status_code, refused.json()["code"]) == (409, "job-not-ended")
    client.post(f"/v1/jobs/{job['id']}:cancel")
    finished(client, job["id"])
    assert client.delete(f"/v1/jobs/{job['id']}").status_code == 204
    assert client.get(f"/v1/jobs/{job['id']}").status_code == 404
    assert client.get(f"/v1/jobs/{job['id']}/candidates").status_code == 404
