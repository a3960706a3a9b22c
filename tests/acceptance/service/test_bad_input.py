"""Whatever comes in: a problem document with a stable code and the place, status 4xx, and the service goes on."""

import http.client
import json
from typing import Any

import httpx
import pytest

from warpwright.service.pages import encode_cursor
from warpwright.service.testing import stand_in_ir
from warpwright.solver.domain import dump
from warpwright.solver.profiles import builtin_profile


def problem(response: httpx.Response, status: int, code: str) -> dict[str, Any]:
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    body: dict[str, Any] = response.json()
    assert body["code"] == code, body
    assert body["type"] == f"urn:warpwright:problem:{code}"
    assert body["status"] == status
    assert body["trace_id"] == response.headers["x-trace-id"]
    return body


@pytest.mark.parametrize(
    ("ir", "status", "code"),
    [
        ("not json", 422, "ir-not-json"),
        ('{"nodes": []}', 422, "ir-not-primfunc"),
        ("[" * 100_000, 422, "ir-not-json"),
        (stand_in_ir(refuse="threads-2d"), 422, "threads-2d"),
        (stand_in_ir(refuse="foreign-code"), 422, "foreign-code"),
    ],
)
def test_bad_ir(client: httpx.Client, ir: str, status: int, code: str) -> None:
    body = problem(client.post("/v1/jobs", json={"ir": ir, "profile": "h200"}), status, code)
    assert body["place"].startswith("/ir")


def test_a_profile_with_a_missing_number(client: httpx.Client) -> None:
    document = dump(builtin_profile("h200"))
    document["quantities"] = [q for q in document["quantities"] if q["path"] != "shared.per_block"]
    document["digest"] = ""
    response = client.post("/v1/jobs", json={"ir": stand_in_ir(), "profile": document})
    assert response.status_code == 422
    body = response.json()
    assert body["code"].startswith("profile-")
    assert body["place"] == "shared.per_block"


def test_an_unknown_profile(client: httpx.Client) -> None:
    body = problem(client.post("/v1/jobs", json={"ir": stand_in_ir(), "profile": "h300"}), 404, "profile-unknown")
    assert body["place"] == "/profile"


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"{", 400, "body-not-json"),
        (b'{"ir": "x", "profile": "h200", "seconds": NaN}', 400, "body-not-json"),
        (b'{"ir": "x", "profile": "h200", "seconds": Infinity}', 400, "body-not-json"),
        (b'{"ir": "x", "profile": "h200", "seconds": 1e999}', 422, "request-invalid"),
        (b'{"ir": "\\u0000", "profile": "h200"}', 400, "body-text-invalid"),
        (b'{"ir": "\\ud800", "profile": "h200"}', 400, "body-text-invalid"),
        (b'{"ir": "\xed\xa0\x80", "profile": "h200"}', 400, "body-not-json"),
        (b"\xff\xfe", 400, "body-not-json"),
        (b'\xef\xbb\xbf{"ir": "x", "profile": "h200"}', 400, "body-not-json"),
        ('{"ir": "x", "profile": "h200"}'.encode("utf-16"), 400, "body-not-json"),
        ('{"ir": "x", "profile": "h200"}'.encode("utf-16-le"), 400, "body-not-json"),
        (b'{"ir": "x", "profile": "h200", "profile": "h100"}', 400, "body-key-twice"),
        (b"[" * 200_000, 400, "body-too-deep"),
        (b'{"profile": "h200"}', 422, "request-invalid"),
        (b'{"ir": "x", "variants": [], "profile": "h200"}', 422, "request-invalid"),
        (b'{"ir": "x", "profile": "h200", "colour": "red"}', 422, "request-invalid"),
        (b'{"ir": "x", "profile": "h200", "seed": true}', 422, "request-invalid"),
        (b'{"ir": "x", "profile": "h200", "measure": "yes"}', 422, "request-invalid"),
        (b"[1, 2]", 422, "request-invalid"),
        (b"null", 422, "request-invalid"),
    ],
)
def test_bad_bodies(client: httpx.Client, body: bytes, status: int, code: str) -> None:
    response = client.post("/v1/jobs", content=body, headers={"content-type": "application/json"})
    problem(response, status, code)
    assert client.get("/healthz").status_code == 200


@pytest.mark.parametrize("media_type", ["application/x-www-form-urlencoded", "text/plain"])
def test_a_body_that_is_not_declared_as_json_is_told_so(client: httpx.Client, media_type: str) -> None:
    body = b'{"ir": "x", "profile": "h200"}'
    response = client.post("/v1/jobs", content=body, headers={"content-type": media_type})
    assert "application/json" in problem(response, 415, "media-type-unsupported")["detail"]
    problem(client.post("/v1/jobs", content=body), 415, "media-type-unsupported")


def test_the_place_of_a_wrong_field_is_a_json_pointer(client: httpx.Client) -> None:
    body = {"variants": [{"ir": "x", "parms": {}}], "profile": "h200"}
    found = problem(client.post("/v1/jobs", json=body), 422, "request-invalid")
    assert found["errors"][0]["place"] == "/variants/0/parms"


def test_a_hundred_megabytes_are_refused_before_they_are_read(client: httpx.Client) -> None:
    connection = http.client.HTTPConnection(client.base_url.host, client.base_url.port, timeout=10)
    connection.putrequest("POST", "/v1/jobs")
    connection.putheader("content-type", "application/json")
    connection.putheader("content-length", str(100 << 20))
    connection.endheaders()
    response = connection.getresponse()
    assert response.status == 413
    assert json.loads(response.read())["code"] == "body-too-large"
    connection.close()


def test_a_body_without_a_length_is_counted_as_it_comes(start: Any) -> None:
    client = start(max_body_bytes=100_000).client

    def chunks() -> Any:
        for _ in range(64):
            yield b" " * 4096

    response = client.post("/v1/jobs", content=chunks(), headers={"content-type": "application/json"})
    problem(response, 413, "body-too-large")


def test_one_ir_above_its_own_limit(start: Any) -> None:
    client = start(max_ir_bytes=1000).client
    body = problem(client.post("/v1/jobs", json={"ir": "x" * 1001, "profile": "h200"}), 413, "ir-too-large")
    assert body["place"] == "/ir"


def test_pins_that_are_no_document(client: httpx.Client) -> None:
    body = {"ir": stand_in_ir(), "profile": "h200", "pins": {"schema": "warpwright.pins/2"}}
    problem(client.post("/v1/jobs", json=body), 422, "document-schema")
    body["pins"] = {"schema": "warpwright.pins/1", "depth": 4}
    problem(client.post("/v1/jobs", json=body), 422, "document-invalid")


@pytest.mark.parametrize(
    "path", ["/v1/jobs/job_x", "/v1/jobs/job_x/candidates", "/v1/jobs/job_x/events", "/v1/nothing"]
)
def test_unknown_things(client: httpx.Client, path: str) -> None:
    response = client.get(path)
    assert response.status_code == 404
    assert response.json()["code"] in ("job-unknown", "not-found")


@pytest.mark.parametrize("digest", ["x", "sha256:00", "sha256:" + "0" * 64, "..%2f..%2fetc%2fpasswd"])
def test_unknown_artifacts(client: httpx.Client, digest: str) -> None:
    assert client.get(f"/v1/artifacts/{digest}").status_code == 404


@pytest.mark.parametrize(
    "cursor",
    [
        "x",
        "AAAA",
        "W10",
        "WzFd",
        "bnVsbA",
        "W251bGxd",
        encode_cursor("\ud800"),
        encode_cursor("\x00"),
        encode_cursor(True),
    ],
)
@pytest.mark.parametrize("path", ["jobs", "batches", "results", "profiles"])
def test_broken_cursors(client: httpx.Client, path: str, cursor: str) -> None:
    problem(client.get(f"/v1/{path}", params={"cursor": cursor}), 400, "cursor-invalid")


def test_another_sites_page_cannot_use_the_tokenless_service(client: httpx.Client) -> None:
    problem(client.get("/v1/jobs", headers={"host": "evil.example"}), 400, "host-not-allowed")
    problem(client.get("/v1/jobs", headers={"origin": "https://evil.example"}), 400, "origin-not-allowed")
    assert client.get("/v1/jobs", headers={"origin": "http://localhost:8753"}).status_code == 200


def test_a_pages_size_is_bounded(client: httpx.Client) -> None:
    problem(client.get("/v1/jobs", params={"limit": 100_000}), 422, "request-invalid")


def test_another_method_is_told_which_there_are(client: httpx.Client) -> None:
    for path, allowed in (
        ("/v1/jobs", "GET, POST"),
        ("/v1/jobs/job_x", "DELETE, GET"),
        ("/v1/jobs/job_x:cancel", "POST"),
    ):
        response = client.patch(path)
        problem(response, 405, "method-not-allowed")
        assert response.headers["allow"] == allowed


def test_numbers_that_json_does_not_have_never_leave(client: httpx.Client) -> None:
    text = client.get("/openapi.json").text
    json.loads(text, parse_constant=lambda name: pytest.fail(name))


def test_an_unexpected_error_is_a_problem_without_our_insides(start: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    service = start()

    def broken(*_: object) -> None:
        raise RuntimeError("the secret is xyzzy")  # not hex: the body holds a random trace id

    monkeypatch.setattr(service.context.database, "reading", broken)
    response = service.client.get("/v1/jobs")
    assert response.status_code == 500
    body = response.json()
    assert body["code"] == "internal-error"
    assert "xyzzy" not in response.text
    assert service.client.get("/healthz").status_code == 200
