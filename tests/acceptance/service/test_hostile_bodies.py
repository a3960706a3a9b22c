"""Bodies that cost a service its memory or its time: unread without a token, and stopped at a limit with one."""

import gzip
import json
import os
import resource
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from fastapi.routing import iter_route_contexts

from tests.acceptance.service.conftest import bearer, guarded_service
from warpwright.service.guarded_route import GuardedRoute
from warpwright.service.settings import Settings
from warpwright.service.testing import new_ir
from warpwright.service.tokens.schemas import TokenScope

OPEN = {"/healthz", "/readyz", "/login", "/openapi.json", "/static"}
"""What needs no token: probes, the description, the login page and its assets."""
MEMORY = 1 << 30
"""Bytes of data that the service may have: an idle one has some 200 MiB."""


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with guarded_service(tmp_path_factory.mktemp("guarded")) as found:
        yield found


def answered_unread(url: str, method: str, path: str, token: str = "") -> int:
    """The status of a request whose body is announced and never sent."""
    found = urlsplit(url)
    head = [
        f"{method} {path} HTTP/1.1",
        f"Host: {found.netloc}",
        "Content-Type: application/json",
        "Content-Length: 100",
    ]
    head += [f"Authorization: Bearer {token}"] if token else []
    with socket.create_connection((found.hostname, found.port), timeout=60) as connection:
        connection.sendall("\r\n".join([*head, "", ""]).encode())
        return int(connection.recv(64).split()[1])


def test_without_a_token_every_route_answers_before_it_reads(guarded: Any) -> None:
    running, secrets = guarded
    seen = set()
    for found in iter_route_contexts(running.app.routes):
        path = str(found.path)
        for method in sorted(found.methods or ()):
            if path in OPEN or method == "HEAD":
                continue
            address = path.replace("{", "").replace("}", "")
            page = "json" not in path and not path.startswith(("/v1/", "/metrics"))
            status = answered_unread(running.url, method, address)
            assert status in ((303, 401) if page else (401,)), (method, path, status)
            seen.add((method, path))
    assert len(seen) > 50
    assert answered_unread(running.url, "POST", "/v1/tokens", secrets[TokenScope.READ]) == 403


def test_each_route_that_takes_a_body_checks_headers_first(guarded: Any) -> None:
    """The gate for the next route: its class, and a check among its dependencies."""
    running, _ = guarded
    for found in iter_route_contexts(running.app.routes):
        if str(found.path) in OPEN or not {"POST", "PUT", "PATCH", "DELETE"} & set(found.methods or ()):
            continue
        route = getattr(found, "original_route", None) or getattr(found, "route", found)
        assert isinstance(route, GuardedRoute), found.path
        assert route.header_checks, found.path


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A service in a process of its own that the kernel lets have little memory."""
    data = tmp_path_factory.mktemp("limited")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    environment = os.environ | {
        "WARPWRIGHT_DATA": str(data),
        "WARPWRIGHT_TOOLCHAIN": "stand_in",
        "WARPWRIGHT_JOB_SLOTS": "0",
    }
    command = [sys.executable, "-m", "warpwright.cli.main", "serve", "--port", str(port)]
    process = subprocess.Popen(
        command,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY)),
    )
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=120) as client:
        until = time.monotonic() + 120
        while process.poll() is None and time.monotonic() < until:
            with suppress(httpx.TransportError):
                if client.get("/healthz").status_code == 200:
                    break
            time.sleep(0.1)
        try:
            yield client
            assert process.poll() is None, "it ended"
        finally:
            process.terminate()
            process.wait(60)


def nested(count: int, item: bytes) -> bytes:
    return b'{"profile":[' + item * count + b"1]}"


JSON_BODIES = {
    "objects": nested((60 << 20) // 3, b"{},"),
    "strings": nested((60 << 20) // 10, b'"\\u0041",'),
    "numbers": nested((60 << 20) // 2, b"1,"),
}


@pytest.mark.parametrize("name", JSON_BODIES)
def test_a_body_of_many_values_stops_at_their_limit(limited: httpx.Client, name: str) -> None:
    refused = limited.post("/v1/jobs", content=JSON_BODIES[name], headers={"content-type": "application/json"})
    assert (refused.status_code, refused.json()["code"]) == (413, "body-too-many-values")
    assert str(Settings().max_body_values) in refused.json()["detail"]


@pytest.mark.parametrize(
    ("path", "limit"),
    [
        ("/login", Settings().max_login_bytes),
        ("/jobs", Settings().max_document_bytes),
        ("/v1/tokens", Settings().max_document_bytes),
        ("/v1/results:lookup", 2 * Settings().max_ir_bytes + Settings().max_document_bytes),
        ("/v1/jobs", Settings().max_body_bytes),
    ],
)
@pytest.mark.parametrize("announced", [True, False])
def test_a_route_reads_what_it_needs(limited: httpx.Client, path: str, limit: int, announced: bool) -> None:
    """With a length the answer comes before the body; in chunks it comes where the limit is passed."""

    def chunks() -> Iterator[bytes]:
        for _ in range(limit // (64 << 10) + 2):
            yield b" " * (64 << 10)

    content = b" " * (limit + 1) if announced else chunks()
    kind = "application/json" if path.startswith("/v1/") else "application/x-www-form-urlencoded"
    refused = limited.post(path, content=content, headers={"content-type": kind})
    assert refused.status_code == 413
    assert "body-too-large" in refused.text


@pytest.mark.parametrize("line", [b"[]\n", b"\n", b"\r\n"])
def test_a_batch_of_millions_of_lines_stops_at_their_limit(limited: httpx.Client, line: bytes) -> None:
    bomb = gzip.compress(line * (80 << 20), 1)
    refused = limited.post("/v1/batches", content=bomb, headers={"content-encoding": "gzip"})
    assert (refused.status_code, refused.json()["code"]) == (413, "too-many-lines")


def test_a_batch_of_one_long_line_stops_at_its_bytes(limited: httpx.Client) -> None:
    bomb = gzip.compress(b" " * (Settings().max_batch_bytes + 1), 1)
    refused = limited.post("/v1/batches", content=bomb, headers={"content-encoding": "gzip"})
    assert (refused.status_code, refused.json()["code"]) == (413, "batch-too-large")


def test_after_all_of_it_the_service_answers(limited: httpx.Client) -> None:
    submitted = limited.post("/v1/jobs", json={"ir": new_ir(), "profile": "h200"})
    assert submitted.status_code == 202, submitted.text


ADDRESSES = [
    "/v1/jobs?state=%00",
    "/v1/jobs?name=a%00b",
    "/v1/results?profile=%00",
    "/v1/results?ir_hash=%00",
    "/jobs?text=%00",
    "/jobs?owner=%00",
    "/kernels?text=%ed%a0%80",
    "/kernels/%00",
    "/jobs/%00",
    "/v1/jobs/%00",
    "/v1/jobs/%00/candidates/%00",
    "/v1/batches/%ff",
    "/profiles/%00",
    "/compare?a=%00&b=%00",
]


@pytest.mark.parametrize("address", ADDRESSES)
def test_an_address_is_text_that_a_database_can_be_asked_for(client: httpx.Client, address: str) -> None:
    refused = client.get(address)
    assert (refused.status_code, refused.json()["code"]) == (400, "address-text-invalid")


def test_text_is_utf_8_without_nul_wherever_it_stands(client: httpx.Client) -> None:
    head = {"content-type": "application/json"}
    named: dict[str, Any] = {"variants": [{"ir": new_ir("text"), "params": {"x": "MARK"}}], "profile": "h200"}
    plain = json.dumps(named)
    bodies = [plain.encode("utf-16"), plain.encode().replace(b"MARK", b"a\xed\xa0\x80b")]
    bodies += [plain.replace("MARK", mark).encode() for mark in ("\\u0000", "\\ud800")]
    for body in bodies:
        refused = client.post("/v1/jobs", content=body, headers=head)
        assert refused.status_code == 400, refused.text
        assert refused.json()["code"] in ("body-not-json", "body-text-invalid")
    for line in bodies[1:]:
        batch = client.post("/v1/batches", content=line)
        items = client.get(f"{batch.headers['location']}/items").json()["items"]
        assert [item["problem"]["status"] for item in items] == [400], items
    wrong = client.post(
        "/jobs", content=b"action=cancel&job=%00", headers={"content-type": "application/x-www-form-urlencoded"}
    )
    assert wrong.status_code == 400
    assert "form-invalid" in wrong.text
    for page in ("/jobs", "/v1/jobs", "/v1/batches", "/jobs.csv", "/"):
        assert client.get(page).status_code == 200


def test_a_form_of_another_site_is_refused_at_the_login_as_well(guarded: Any) -> None:
    running, secrets = guarded
    refused = running.client.post(
        "/login", data={"token": secrets[TokenScope.READ]}, headers={"origin": "https://elsewhere.example"}
    )
    assert refused.status_code == 403
    assert "origin-not-allowed" in refused.text
    assert running.client.get("/v1/jobs", headers=bearer(secrets[TokenScope.READ])).status_code == 200
