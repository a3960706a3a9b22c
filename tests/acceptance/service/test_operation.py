"""Metrics, workers, health, and the collection of artifacts."""

import os
import re
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import update

from tests.acceptance.service.jobs_over_http import candidates, finished, submit
from warpwright.service.artifacts.collect import collect
from warpwright.service.artifacts.retention import Retention
from warpwright.service.db.base import now
from warpwright.service.db.models import Worker
from warpwright.service.testing import new_ir


def test_metrics_count_requests_jobs_candidates_and_lookups(client: httpx.Client) -> None:
    ir = new_ir(schedules=1, faults={0: "crashed"})
    finished(client, submit(client, ir)["id"])
    client.post("/v1/results:lookup", json={"ir": ir, "profile": "h200"})
    text = client.get("/metrics").text
    assert 'warpwright_jobs{state="done"}' in text
    assert "warpwright_queue_age_seconds 0" in text
    assert 'warpwright_candidates_total{outcome="crashed"}' in text
    assert 'warpwright_lookups_total{answer="found"}' in text
    assert 'warpwright_step_seconds_count{step="compile"}' in text
    assert 'route="/v1/jobs/{job_id}"' in text


def test_the_documented_metrics_are_those_that_are_there(client: httpx.Client) -> None:
    finished(client, submit(client, new_ir(schedules=1))["id"])
    client.post("/v1/results:lookup", json={"ir": new_ir(), "profile": "h200"})
    for method in ("ODD1", "ODD2"):
        client.request(method, "/v1/jobs/x")
        client.get(f"/nothing/{method}")
    found = {}
    for family in text_string_to_metric_families(client.get("/metrics").text):
        # The library adds when each series began.
        if family.name.startswith("warpwright_") and not family.name.endswith("_created"):
            labels = {name for sample in family.samples for name in sample.labels} - {"le"}
            found[family.name + ("_total" if family.type == "counter" else "")] = (family.type, labels)
    page = (Path(__file__).parents[3] / "docs" / "farm.md").read_text("utf-8")
    rows = re.findall(r"^\| `(warpwright_\w+)` \| (\w+) \| (.*?) \|", page, re.MULTILINE)
    told = {name: (kind, set(re.findall(r"`(\w+)`", re.sub(r"\(.*?\)", "", labels)))) for name, kind, labels in rows}
    assert found == told
    text = client.get("/metrics").text
    assert "ODD" not in text, "neither a method nor a path of a caller's own making is a label"
    assert 'warpwright_workers{state="ready"}' in text
    assert 'warpwright_phase_seconds_count{phase="solving"}' in text


def test_a_requests_trace_is_followed_into_its_job(client: httpx.Client) -> None:
    trace = "0af7651916cd43dd8448eb211c80319c"
    response = client.post(
        "/v1/jobs",
        json={"ir": new_ir(), "profile": "h200"},
        headers={"traceparent": f"00-{trace}-b7ad6b7169203331-01"},
    )
    assert response.headers["x-trace-id"] == trace
    assert response.json()["trace_id"] == trace


def test_workers_report_and_are_drained(client: httpx.Client) -> None:
    report = {"capabilities": ["compile.cuda"], "devices": [{"name": "H200"}], "versions": {"nvcc": "13.0"}}
    first = client.put("/v1/workers/w1@host", json=report).json()
    assert (first["alive"], first["draining"], first["capabilities"]) == (True, False, ["compile.cuda"])
    assert client.post("/v1/workers/w1@host:drain").json()["draining"] is True
    again = client.put("/v1/workers/w1@host", json={**report, "healthy": False, "last_error": {"code": "device-lost"}})
    assert (again.json()["draining"], again.json()["healthy"]) == (True, False)
    listed = client.get("/v1/workers").json()["items"]
    assert [(w["id"], w["last_error"]["code"]) for w in listed] == [("w1@host", "device-lost")]
    assert client.post("/v1/workers/w2:drain").json()["code"] == "worker-unknown"


def test_silent_workers_are_forgotten_and_drained_ones_are_not(start: Any) -> None:
    service = start(worker_retention_days=2.0)
    for name in ("silent", "drained", "there"):
        service.client.put(f"/v1/workers/{name}", json={"capabilities": ["solve"]})
    service.client.post("/v1/workers/drained:drain")
    database = service.context.database
    long_ago = update(Worker).where(Worker.id != "there").values(heartbeat_at=now() - timedelta(days=2, minutes=1))
    database.write(lambda session: session.execute(long_ago))
    Retention(database, service.context.store, service.context.settings).collect()
    assert [worker["id"] for worker in service.client.get("/v1/workers").json()["items"]] == ["drained", "there"]
    assert service.client.put("/v1/workers/drained", json={"capabilities": ["solve"]}).json()["draining"] is True
    assert service.client.put("/v1/workers/silent", json={"capabilities": ["solve"]}).json()["draining"] is False


def test_a_worker_that_starts_again_under_its_name_starts_anew(start: Any) -> None:
    client = start().client

    def started(**told: float) -> datetime:
        row = client.put("/v1/workers/w1", json={"capabilities": ["solve"], **told}).json()
        return datetime.fromisoformat(row["started_at"])

    first = started(uptime_seconds=86400.0)
    assert abs(now() - timedelta(days=1) - first) < timedelta(minutes=1)
    assert started() == first, "an older worker says nothing of it"
    assert abs(now() - timedelta(seconds=3) - started(uptime_seconds=3.0)) < timedelta(minutes=1)
    for wrong in (-1.0, 1e300, True, "3"):
        refused = client.put("/v1/workers/w1", json={"capabilities": ["solve"], "uptime_seconds": wrong})
        assert refused.status_code == 422, wrong


def test_uploads_are_checked_by_digest(client: httpx.Client) -> None:
    wrong = client.put(f"/v1/artifacts/sha256:{'0' * 64}", content=b"x")
    assert (wrong.status_code, wrong.json()["code"]) == (422, "digest-mismatch")
    digest = "sha256:2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"
    assert client.put(f"/v1/artifacts/{digest}", content=b"x").status_code == 201
    assert client.get(f"/v1/artifacts/{digest}").content == b"x"


def test_an_upload_of_another_format_is_refused(client: httpx.Client) -> None:
    digest = "sha256:2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"
    for kind in ("application/x-python-pickle", "text/html", "application/json"):
        refused = client.put(f"/v1/artifacts/{digest}", content=b"x", headers={"content-type": kind})
        assert refused.status_code == 415, kind


def test_a_worker_tells_no_more_than_a_row_should_hold(client: httpx.Client) -> None:
    long = "x" * 20_000
    for told in (
        {"capabilities": [long]},
        {"capabilities": [], "versions": {"nvcc": long}},
        {"capabilities": [], "versions": {long: "13.0"}},
        {"capabilities": [], "devices": [{"name": long}]},
        {"capabilities": [], "last_error": {"message": long}},
    ):
        refused = client.put("/v1/workers/talkative", json=told)
        assert (refused.status_code, refused.json()["code"]) == (422, "request-invalid"), told


def test_ready_means_that_it_can_work(client: httpx.Client) -> None:
    assert client.get("/readyz").json() == {"status": "ready"}


def test_the_collection_takes_what_nothing_points_to_and_nothing_else(start: Any) -> None:
    service = start()
    job = finished(service.client, submit(service.client, new_ir(schedules=1))["id"])
    used = {d for c in candidates(service.client, job["id"]) for d in c["artifacts"].values()}
    store, database = service.context.store, service.context.database
    orphan = store.put(b"a file whose transaction never came")
    leftover = store.folder / "ab" / ".part-x"
    leftover.parent.mkdir(exist_ok=True)
    leftover.write_bytes(b"half")
    for path in (store.folder / orphan[7:9] / orphan[9:], leftover):
        os.utime(path, (0, 0))
    kept = collect(database, store, timedelta(0))
    assert (kept.artifacts, kept.orphans, kept.leftovers) == (0, 1, 1)
    assert all(store.has(digest) for digest in used)
    assert service.client.delete(f"/v1/jobs/{job['id']}").status_code == 204
    assert collect(database, store, timedelta(days=1)).artifacts == 0
    assert collect(database, store, timedelta(0)).artifacts == len(used) + 1
    assert not any(store.has(digest) for digest in used)
