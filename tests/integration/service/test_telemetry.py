"""One trace from the request to the last task, through every process that works for it, as an OTLP collector receives it."""

import json
import os
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx

from warpwright.service.testing import new_ir
from warpwright.service.testing.collector import CollectedSpan, TraceCollector
from warpwright.service.testing.farm import TemporaryFarm
from warpwright.tuning.testing.on_runner import SIMULATED

TRACE = "0af7651916cd43dd8448eb211c80319c"
CALLER = "b7ad6b7169203331"
TASKS = Counter(
    {
        "stand_in.read": 2,  # once for the submission and once for the job
        "stand_in.propose": 1,
        "stand_in.compile": 4,
        "stand_in.materialize": 1,
        "measure.session": 1,
    }
)


@contextmanager
def serving(folder: Path, **environment: str) -> Iterator[tuple[str, Path]]:
    """``warpwright serve`` as it runs in production; its address, and the file that its log goes to."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = folder / "serve.log"
    settings = {
        "WARPWRIGHT_DATA": str(folder),
        "WARPWRIGHT_TOOLCHAIN": "stand_in_children",
        "WARPWRIGHT_LOG_FORMAT": "json",
        "WARPWRIGHT_SLOW_ARTIFACT_SYNC": "false",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    with log.open("wb") as file:
        command = [sys.executable, "-m", "warpwright", "serve", "--port", str(port)]
        process = subprocess.Popen(command, env={**os.environ, **settings, **environment}, stderr=file)
        try:
            url, until = f"http://127.0.0.1:{port}", time.monotonic() + 60
            while True:
                try:
                    httpx.get(f"{url}/readyz").raise_for_status()
                    break
                except httpx.HTTPError:
                    assert process.poll() is None, log.read_text()
                    assert time.monotonic() < until, log.read_text()
                    time.sleep(0.05)
            yield url, log
        finally:
            process.terminate()
            process.wait(30)


def tuned(url: str) -> str:
    """The id of a job that a caller with a trace of its own asked for, when it has ended."""
    header = {"traceparent": f"00-{TRACE}-{CALLER}-01"}
    with httpx.Client(base_url=url, timeout=90.0) as client:
        job = client.post("/v1/jobs", json={"ir": new_ir(schedules=1), "profile": "h200"}, headers=header).json()
        assert client.get(f"/v1/jobs/{job['id']}", params={"wait": 60}).json()["state"] == "done"
        assert job["trace_id"] == TRACE
    return str(job["id"])


def one(collector: TraceCollector, name: str) -> CollectedSpan:
    (found,) = collector.named(name, TRACE)
    return found


def test_from_the_request_to_the_children_of_the_local_runner(tmp_path: Path) -> None:
    with TraceCollector() as collector:
        with serving(tmp_path, **collector.environment) as (url, log):
            job = tuned(url)
        # SIGTERM has ended it: what was recorded by then was sent before.
        request, attempt = one(collector, "POST /v1/jobs"), one(collector, "job attempt")
        assert (request.parent, request.service) == (CALLER, "warpwright")
        assert request.attributes["warpwright.job"] == attempt.attributes["warpwright.job"] == job
        assert attempt.parent == request.id
        assert (attempt.attributes["warpwright.state"], attempt.attributes["warpwright.attempt"]) == ("done", 1)
        tasks = [span for span in collector.spans if span.name.startswith("task ")]
        assert Counter(span.name.removeprefix("task ") for span in tasks) == TASKS
        assert {span.trace for span in tasks} == {TRACE}
        assert sorted(Counter(span.parent for span in tasks).items()) == sorted({request.id: 1, attempt.id: 8}.items())
        assert not [span for span in collector.spans if "readyz" in span.name]
    lines = [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]
    of_tasks = [line for line in lines if line["event"] == "task-ended" and line.get("trace") == TRACE]
    assert {line["task"] for line in of_tasks} >= {*TASKS, "measure.device"} - {"measure.session"}


def test_on_through_celery_to_the_workers(tmp_path: Path) -> None:
    with TraceCollector() as collector, ExitStack() as running:
        farm = running.enter_context(TemporaryFarm(1, devices=[SIMULATED], environment=collector.environment))
        farm.wait_ready()
        environment = {
            **collector.environment,
            "WARPWRIGHT_TASK_RUNNER": "celery",
            "WARPWRIGHT_BROKER_URL": farm.broker_url,
            "OTEL_RESOURCE_ATTRIBUTES": "service.name=the-service",
        }
        with serving(tmp_path, **environment) as (url, _):
            tuned(url)
        done = sum(TASKS.values())
        assert collector.wait(lambda: sum(s.name.startswith("task ") for s in collector.spans) >= done)
        sent = {span.id: span for span in collector.spans if span.name.startswith("send ")}
        assert Counter(span.name.removeprefix("send ") for span in sent.values()) == TASKS
        assert {span.service for span in sent.values()} == {"the-service"}
        tasks = [span for span in collector.spans if span.name.startswith("task ")]
        assert {span.trace for span in tasks} == {TRACE}
        assert {span.service for span in tasks} == {"warpwright-worker"}
        assert all(sent[span.parent].name == span.name.replace("task ", "send ") for span in tasks)
        # What a worker sends to the service and fetches from it belongs to the task.
        compiles = {span.id for span in tasks if span.name == "task stand_in.compile"}
        uploads = collector.named("PUT /v1/artifacts/{digest}", TRACE)
        assert {span.parent for span in uploads} == compiles
