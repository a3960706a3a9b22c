"""Batches: JSON lines, gzip, shared work, bad lines as data, results as JSON lines and CSV."""

import csv
import gzip
import io
import json
import time
from typing import Any

import httpx
import pytest

from warpwright.service.jobs.submit import prepare
from warpwright.service.testing import new_ir


def lines_of(*documents: dict[str, Any] | str) -> bytes:
    return "\n".join(d if isinstance(d, str) else json.dumps({"profile": "h200", **d}) for d in documents).encode()


def post(client: httpx.Client, body: bytes, **headers: str) -> httpx.Response:
    return client.post("/v1/batches", content=body, headers={"content-type": "application/x-ndjson", **headers})


def ended(client: httpx.Client, batch_id: str) -> dict[str, Any]:
    until = time.monotonic() + 240
    while time.monotonic() < until:
        batch: dict[str, Any] = client.get(f"/v1/batches/{batch_id}").json()
        if batch["ended"]:
            return batch
        time.sleep(0.05)
    raise AssertionError("the batch did not end")


def test_many_lines_are_one_status_and_a_bad_line_is_data(client: httpx.Client) -> None:
    shared = new_ir(schedules=1)
    body = lines_of(
        {"ir": shared, "label": "first"},
        "",
        {"ir": shared, "label": "=again"},
        "{broken",
        {"ir": new_ir(schedules=1), "profile": "h300"},
        {"ir": new_ir(refuse="foreign-code")},
        {"variants": [{"ir": new_ir(schedules=1)}, {"ir": new_ir(schedules=1)}]},
        {"ir": new_ir(), "colour": "red"},
    )
    response = post(client, gzip.compress(body), **{"content-encoding": "gzip"})
    assert response.status_code == 202, response.text
    batch = ended(client, response.json()["id"])
    assert batch["lines"] == 7
    assert batch["counts"] == {"done": 3, "failed": 1, "refused": 3}
    assert batch["jobs"] == 3
    assert batch["seconds_left"] == 0.0
    items = client.get(f"/v1/batches/{batch['id']}/items").json()["items"]
    assert [item["line"] for item in items] == [1, 3, 4, 5, 6, 7, 8]
    assert items[0]["job"] == items[1]["job"]
    codes = [item["problem"]["code"] if item["problem"] else None for item in items]
    assert codes == [None, None, "body-not-json", "profile-unknown", None, None, "request-invalid"]
    results = client.get(f"/v1/batches/{batch['id']}/results").text.splitlines()
    rows = [json.loads(line) for line in results]
    assert [row["state"] for row in rows] == ["done", "done", "refused", "refused", "failed", "done", "refused"]
    assert rows[4]["problem"] == "foreign-code"
    table = list(csv.DictReader(io.StringIO(client.get(f"/v1/batches/{batch['id']}/results?format=csv").text)))
    assert len(table) == 7
    assert table[1]["label"] == "'=again"
    again = post(client, body)
    assert (again.status_code, again.json()["id"]) == (200, batch["id"])


def test_a_batch_can_be_cancelled(start: Any) -> None:
    client = start(job_slots=0).client
    batch = post(client, lines_of(*({"ir": new_ir()} for _ in range(5)))).json()
    assert batch["counts"] == {"queued": 5}
    cancelled = client.post(f"/v1/batches/{batch['id']}:cancel").json()
    assert cancelled["counts"] == {"cancelled": 5}
    assert cancelled["ended"] is True


def test_what_is_refused_as_a_whole(start: Any) -> None:
    client = start(job_slots=0, max_batch_lines=3, max_batch_bytes=10_000).client
    for body, headers, status, code in (
        (b"\n \n", {}, 422, "batch-empty"),
        (lines_of(*({"ir": "x"} for _ in range(4))), {}, 413, "too-many-lines"),
        (gzip.compress(b"x" * 1_000_000), {"content-encoding": "gzip"}, 413, "batch-too-large"),
        (b"nonsense", {"content-encoding": "gzip"}, 400, "gzip-damaged"),
        (gzip.compress(b"x" * 100)[:-12], {"content-encoding": "gzip"}, 400, "gzip-damaged"),
        (gzip.compress(b"x") + b"garbage", {"content-encoding": "gzip"}, 400, "gzip-damaged"),
        (gzip.compress(b"x") + gzip.compress(b"x" * 1_000_000), {"content-encoding": "gzip"}, 413, "batch-too-large"),
        (b"x", {"content-encoding": "br"}, 400, "encoding-unknown"),
        (b"x" * 20_000, {}, 413, "body-too-large"),
    ):
        response = post(client, body, **headers)
        assert (response.status_code, response.json()["code"]) == (status, code)
    assert client.get("/v1/batches/batch_x").json()["code"] == "batch-unknown"


def test_all_members_of_a_gzip_file_are_read(client: httpx.Client) -> None:
    members = [gzip.compress(lines_of({"ir": new_ir(schedules=1)}) + b"\n") for _ in range(2)]
    body = b"".join(members) + b"\x00" * 512
    assert post(client, body, **{"content-encoding": "gzip"}).json()["lines"] == 2


def test_a_label_is_text_that_comes_back_whole(client: httpx.Client) -> None:
    ir = new_ir(schedules=1)
    labels: list[Any] = ["\u00dcn\u00ef=\U0001f642", "x" * 200, "x" * 201, None, {"a": 1}]
    batch = post(client, lines_of(*({"ir": ir, "label": label} for label in labels))).json()
    items = client.get(f"/v1/batches/{batch['id']}/items").json()["items"]
    assert [item["label"] for item in items[:2]] == labels[:2]
    assert [item["problem"] and item["problem"]["place"] for item in items] == [None, None, *["/label"] * 3]


def test_a_cancelled_batch_leaves_another_batch_its_jobs(start: Any) -> None:
    client = start(job_slots=0).client
    shared, alone = {"ir": new_ir()}, {"ir": new_ir()}
    first = post(client, lines_of(shared, alone)).json()["id"]
    second = post(client, lines_of(shared)).json()["id"]
    assert client.post(f"/v1/batches/{first}:cancel").json()["counts"] == {"queued": 1, "cancelled": 1}
    assert client.get(f"/v1/batches/{second}").json()["counts"] == {"queued": 1}
    assert client.post(f"/v1/batches/{second}:cancel").json()["counts"] == {"cancelled": 1}


def test_nothing_is_added_to_a_batch_that_was_cancelled_meanwhile(start: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    running = start(job_slots=0)
    client = running.client

    def cancelled_first(context: Any, submission: Any, **options: Any) -> Any:
        (batch,) = client.get("/v1/batches").json()["items"]
        client.post(f"/v1/batches/{batch['id']}:cancel")
        return prepare(context, submission, **options)

    monkeypatch.setattr("warpwright.service.batches.service.prepare", cancelled_first)
    response = post(client, lines_of({"ir": new_ir()}))
    assert (response.status_code, response.json()["code"]) == (409, "batch-cancelled")
    assert client.get("/v1/jobs").json()["items"] == []
