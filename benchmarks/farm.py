"""The load on the parts of a farm: ``python -m benchmarks.farm`` prints one JSON object.

A service on PostgreSQL, a Redis and workers on this machine, and jobs of the stand-in whose steps take no time: what remains
is the farm's own work. Counts (tasks, commands, transactions, bytes) do not depend on how busy the machine is; CPU seconds do
a little, times do, so the load of the machine is reported with them.
"""

import argparse
import json
import os
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import psutil
import psycopg

from warpwright.service.db import Database
from warpwright.service.settings import Settings
from warpwright.service.task_runner_choice import celery_runner
from warpwright.service.testing import StandInToolchain, new_ir
from warpwright.service.testing.farm import TemporaryFarm
from warpwright.service.testing.postgresql import TemporaryPostgresql
from warpwright.service.testing.running import RunningService
from warpwright.tuning.children import Limits
from warpwright.tuning.task_runners.celery import CeleryRunner
from warpwright.tuning.task_runners.farm import FarmDevices
from warpwright.tuning.testing.on_runner import SIMULATED, StandInOnRunner

__all__ = ["main", "run"]

SCHEDULES = 8
BASELINES = 3
IR_BYTES = 100_000
"""As large as the IR of an attention kernel."""


def run(jobs: int, workers: int) -> dict[str, Any]:
    """The report."""
    with tempfile.TemporaryDirectory(prefix="warpwright-farm-") as name, TemporaryPostgresql() as postgresql:
        url = postgresql.database()
        with TemporaryFarm(workers, devices=[SIMULATED], silence_seconds=5, visibility_seconds=30) as farm:
            farm.wait_ready()
            settings = Settings(
                data=Path(name), database_url=url, broker_url=farm.broker_url, job_slots=2, build_slots=workers
            )
            database = Database(url)
            runner = celery_runner(settings, database)
            tools = StandInOnRunner(runner, FarmDevices(runner, []), StandInToolchain(device=True))
            with RunningService(settings, toolchain=tools) as service:
                runner.service_url = service.url
                _jobs(service, 2, measure=True)  # children are warm afterwards
                idle = _rate(farm, 5.0)
                compiled = _load(service, farm, url, jobs, measure=False)
                measured = _load(service, farm, url, jobs, measure=True)
                flight = _in_flight(runner, farm) - idle
                memory = _waiting(runner, farm)
            database.close()
        return {
            "machine": {"cores": os.cpu_count(), "load_average": [round(each, 1) for each in os.getloadavg()]},
            "workers": workers,
            "candidates_per_job": SCHEDULES + BASELINES,
            "compiled_job": compiled,
            "measured_job": measured,
            "redis_commands_per_second": {"idle_farm": round(idle, 1), "each_task_in_flight": round(flight, 1)},
            "redis_bytes_per_waiting_task": memory,
            "ir_bytes_of_waiting_task": IR_BYTES,
        }


def _jobs(service: RunningService, count: int, *, measure: bool) -> None:
    ids = []
    for _ in range(count):
        body = {"ir": new_ir(schedules=SCHEDULES), "profile": "h200", "candidates": SCHEDULES, "measure": measure}
        ids.append(service.client.post("/v1/jobs", json=body).raise_for_status().json()["id"])
    for job in ids:
        while (state := service.client.get(f"/v1/jobs/{job}", params={"wait": 30}).json()["state"]) != "done":
            if state in ("failed", "cancelled"):
                raise RuntimeError(f"{job} {state}")


def _load(service: RunningService, farm: TemporaryFarm, url: str, jobs: int, *, measure: bool) -> dict[str, Any]:
    """Per job, over ``jobs`` of them."""
    commands, tasks, rows = _commands(farm), _tasks(farm), _transactions(url)
    cpu, own = _cpu(farm), time.process_time()
    begun = time.monotonic()
    _jobs(service, jobs, measure=measure)
    seconds = time.monotonic() - begun
    time.sleep(1.0)  # counters of PostgreSQL's sessions are published late
    done = _tasks(farm) - tasks
    commits, written = (after - before for after, before in zip(_transactions(url), rows, strict=True))
    return {
        "jobs_a_minute": round(60.0 * jobs / seconds, 1),
        "tasks": round(done / jobs, 1),
        "worker_cpu_seconds": round((_cpu(farm) - cpu) / jobs, 3),
        "service_cpu_seconds": round((time.process_time() - own) / jobs, 3),
        "redis_commands": round((_commands(farm) - commands) / jobs, 1),
        "postgresql_transactions": round(commits / jobs, 1),
        "postgresql_rows_written": round(written / jobs, 1),
    }


def _commands(farm: TemporaryFarm) -> int:
    return int(farm.redis.info("stats")["total_commands_processed"])


def _tasks(farm: TemporaryFarm) -> int:
    return sum(int(farm.redis.hget(key, "done") or 0) for key in farm.redis.scan_iter("warpwright-worker:*"))


def _rate(farm: TemporaryFarm, seconds: float) -> float:
    before = _commands(farm)
    time.sleep(seconds)
    return (_commands(farm) - before) / seconds


def _transactions(url: str) -> tuple[int, int]:
    """Committed transactions, and rows inserted or updated."""
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute(
            "SELECT xact_commit, tup_inserted + tup_updated FROM pg_stat_database WHERE datname = current_database()"
        ).fetchone()
    assert row is not None
    return int(row[0]), int(row[1])


def _cpu(farm: TemporaryFarm) -> float:
    """CPU seconds of all workers with everything below them, children that ended included."""
    total = 0.0
    for worker in farm.workers:
        root = psutil.Process(worker.pid)
        for process in (root, *root.children(recursive=True)):
            times = process.cpu_times()
            total += times.user + times.system + times.children_user + times.children_system
    return total


def _in_flight(runner: CeleryRunner, farm: TemporaryFarm) -> float:
    """Commands per second while one task runs, the idle farm's included."""
    seconds = 12.0
    thread = threading.Thread(
        target=lambda: runner.run(
            "stand_in.step", {"seconds": seconds}, Limits(wall_seconds=60.0), cancel=threading.Event()
        )
    )
    thread.start()
    while not farm.busy():
        time.sleep(0.1)
    time.sleep(2.0)
    rate = _rate(farm, seconds - 4.0)
    thread.join()
    return rate


def _waiting(runner: CeleryRunner, farm: TemporaryFarm, tasks: int = 50) -> int:
    """Bytes of Redis's memory that one waiting task takes: tasks of a capability that no worker has."""
    cancel = threading.Event()
    before = int(farm.redis.info("memory")["used_memory"])
    payload = {"profile": "b200", "ir": "x" * IR_BYTES}
    limits = Limits(wall_seconds=120.0)
    threads = [
        threading.Thread(target=runner.run, args=("measure.session", payload, limits), kwargs={"cancel": cancel})
        for _ in range(tasks)
    ]
    for thread in threads:
        thread.start()
    until = time.monotonic() + 60.0
    while farm.redis.llen("measure.b200") < tasks and time.monotonic() < until:
        time.sleep(0.1)
    used = int(farm.redis.info("memory")["used_memory"]) - before
    cancel.set()
    for thread in threads:
        thread.join()
    return used // tasks


def main() -> int:
    """Print the report."""
    parser = argparse.ArgumentParser(description="What jobs cost the parts of a farm.")
    parser.add_argument("--jobs", type=int, default=20)
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    print(json.dumps(run(arguments.jobs, arguments.workers), indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
