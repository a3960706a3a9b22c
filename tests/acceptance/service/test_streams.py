"""Event streams under rude clients and patient proxies (bug cases 85 and 86)."""

import socket
import struct
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.service.conftest import settings_for
from tests.acceptance.service.jobs_over_http import submit
from warpwright.service.jobs import waiting
from warpwright.service.testing import StandInToolchain, new_ir
from warpwright.service.testing.running import RunningService

RESETS = 200


def connect_and_reset(host: str, port: int, path: str, *, read: bool) -> None:
    """Ask for a stream and break the connection with a reset, before the first byte or in the middle."""
    with socket.create_connection((host, port), timeout=10) as connection:
        connection.sendall(f"GET {path} HTTP/1.1\r\nhost: {host}\r\n\r\n".encode())
        if read:
            connection.recv(1)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


@pytest.fixture
def service(tmp_path: Path) -> Iterator[RunningService]:
    """A service in which no job ever runs, with four streams at most."""
    with RunningService(settings_for(tmp_path, job_slots=0, max_streams=4), toolchain=StandInToolchain()) as running:
        yield running


def test_clients_that_reset_before_or_after_the_first_byte_give_every_slot_back(service: RunningService) -> None:
    job = submit(service.client, new_ir())
    url = service.client.base_url
    for number in range(RESETS):
        connect_and_reset(url.host, url.port or 80, f"/v1/jobs/{job['id']}/events", read=number % 4 == 0)
    until = time.monotonic() + 60
    while (service.app.state.streams.open or service.context.bulletin.waiting) and time.monotonic() < until:
        time.sleep(0.05)
    assert (service.app.state.streams.open, service.context.bulletin.waiting) == (0, 0)
    for _ in range(4):
        with service.client.stream("GET", f"/v1/jobs/{job['id']}/events") as response:
            assert response.status_code == 200


def test_a_stream_speaks_at_once_and_goes_on_speaking(service: RunningService, monkeypatch: pytest.MonkeyPatch) -> None:
    assert waiting.HEARTBEAT_SECONDS == 15.0, "proxies close what is silent for a minute"
    monkeypatch.setattr(waiting, "HEARTBEAT_SECONDS", 0.1)
    job = submit(service.client, new_ir())
    with service.client.stream("GET", f"/v1/jobs/{job['id']}/events", headers={"last-event-id": "1"}) as response:
        assert response.headers["x-accel-buffering"] == "no"
        assert response.headers["cache-control"] == "no-cache, no-transform"
        assert "content-encoding" not in response.headers
        lines = [line for line, _ in zip(response.iter_lines(), range(6), strict=False)]
    # Nothing happens in this job: whatever comes is there to be heard.
    assert lines == ["retry: 1000", "", ": still here", "", ": still here", ""]
