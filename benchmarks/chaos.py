"""Chaos: ``python -m benchmarks.chaos [--kills 200] [--runner celery]`` kills processes with SIGKILL while batches run.

A server that answers requests, two processes that run jobs and share its database and artifact folder, their children; for
Celery a Redis, three workers, their pool processes and their children. All on the stand-in toolchain whose every step is a
task, a quarter of the jobs measured on the simulated device. At random moments one process of a random kind is killed, and
whatever is found dead is started again. In the end: no job is lost, none is done twice, no candidate recorded twice, no artifact
half-written, no gap in any job's events, database sound, nothing left in the broker, no process left behind.
Prints one JSON object; exit status 1 when anything is wrong.
"""

import argparse
import contextlib
import json
import random
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx

from benchmarks.chaos_check import check_artifacts, check_broker, check_database
from benchmarks.chaos_fleet import Fleet
from warpwright.service.testing import stand_in_ir
from warpwright.service.testing.postgresql import TemporaryPostgresql
from warpwright.tuning.task_runners.queues import QUEUES

__all__ = ["main", "run"]

SCHEDULES = 3
BASELINES = 3
MEASURED_EVERY = 4
QUIET_SECONDS = 60.0
"""After the last job: until Redis has delivered again what dead workers held, and live ones have dropped it."""


def run(
    kills: int,
    jobs: int,
    *,
    runner: str = "local",
    database: str = "sqlite",
    seed: int = 1,
    pause: tuple[float, float] = (0.05, 0.4),
    limit: float = 3600.0,
) -> dict[str, Any]:
    """One chaos run in batches of ``jobs``, as many as the kills last; the report's ``problems`` is empty when all is well."""
    dice = random.Random(seed)
    with ExitStack() as stack:
        folder = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="warpwright-chaos-", ignore_cleanup_errors=True))
        )
        url = f"sqlite:///{folder / 'warpwright.db'}"
        if database == "postgresql":
            url = stack.enter_context(TemporaryPostgresql()).database()
        fleet = Fleet(folder, url, runner)
        killed: Counter[str] = Counter()
        begun = time.monotonic()
        until = begun + limit
        batches: list[str] = []
        states: dict[str, dict[str, Any]] = {}
        left = 0
        problems: list[str] = []
        facts: dict[str, Any] = {}
        try:
            fleet.keep_up()
            batches.append(_submit(fleet, jobs, dice, 0))
            while sum(killed.values()) < kills and time.monotonic() < until:
                time.sleep(dice.uniform(*pause))
                kind = fleet.kill_one(dice)
                if kind:
                    killed[kind] += 1
                fleet.keep_up()
                if _state(fleet, batches[-1]).get("ended"):
                    batches.append(_submit(fleet, jobs, dice, len(batches)))
            killing_seconds = time.monotonic() - begun
            states = {batch: _wait(fleet, batch, until + 300.0) for batch in batches}
            if fleet.farm is not None:
                broker_problems, facts = _quiet(fleet)
                problems += broker_problems
        finally:
            left = fleet.end()
        total = jobs * len(batches)
        measured = len([n for n in range(jobs) if n % MEASURED_EVERY == 0]) * len(batches)
        counts = Counter[str]()
        for state in states.values():
            counts.update(state.get("counts", {}))
        if counts != {"done": total}:
            problems.append(f"the batches ended as {dict(counts)}, not with {total} done")
        for found, more in (
            check_database(url, total, SCHEDULES + BASELINES, measured),
            check_artifacts(folder, url),
        ):
            problems += found
            facts |= more
        if left:
            problems.append(f"{left} processes outlived their parents")
        log = fleet.log()
        if "attempt-broke" in log or "end-not-written" in log:
            problems.append("an attempt broke: " + log[max(0, log.find("attempt-broke") - 200) :][:3000])
        return {
            "runner": runner,
            "database": database,
            "seed": seed,
            "kills": sum(killed.values()),
            "kills_by_kind": dict(sorted(killed.items())),
            "process_starts": fleet.starts,
            "batches": len(batches),
            "jobs": total,
            "jobs_measured": measured,
            **facts,
            "killing_seconds": round(killing_seconds, 1),
            "seconds": round(time.monotonic() - begun, 1),
            "problems": problems,
        }


def main() -> int:
    """Print the report."""
    parser = argparse.ArgumentParser(description="Kill processes at random while batches run, then check everything.")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=40, help="of one batch")
    parser.add_argument("--runner", choices=["local", "celery"], default="celery")
    parser.add_argument("--database", choices=["sqlite", "postgresql"], default="sqlite")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=float, default=3600.0, help="seconds after which no more is killed")
    arguments = parser.parse_args()
    report = run(
        arguments.kills,
        arguments.jobs,
        runner=arguments.runner,
        database=arguments.database,
        seed=arguments.seed,
        limit=arguments.limit,
    )
    print(json.dumps(report, indent=1))
    return 1 if report["problems"] else 0


def _submit(fleet: Fleet, jobs: int, dice: random.Random, number: int) -> str:
    lines = [
        json.dumps(
            {
                "ir": stand_in_ir(schedules=SCHEDULES, seconds=dice.uniform(0.02, 0.1), salt=f"{number}-{n}"),
                "profile": "h200",
                "measure": n % MEASURED_EVERY == 0,
            }
        )
        for n in range(jobs)
    ]
    body = "\n".join(lines).encode()
    # Submitted again until it is whole: a build system retries blindly, and gets the same batch.
    for _ in range(600):
        for port in fleet.ports:
            with contextlib.suppress(httpx.HTTPError):
                answer = httpx.post(f"http://127.0.0.1:{port}/v1/batches", content=body, timeout=30, verify=False)
                if answer.status_code in (200, 202) and answer.json()["lines"] == jobs:
                    return str(answer.json()["id"])
        fleet.keep_up()
        time.sleep(0.1)
    raise RuntimeError("the batch could not be submitted")


def _state(fleet: Fleet, batch: str) -> dict[str, Any]:
    for port in fleet.ports:
        with contextlib.suppress(httpx.HTTPError):
            answer = httpx.get(f"http://127.0.0.1:{port}/v1/batches/{batch}", timeout=10, verify=False)
            if answer.status_code == 200:
                state: dict[str, Any] = answer.json()
                return state
    return {}


def _wait(fleet: Fleet, batch: str, until: float) -> dict[str, Any]:
    state: dict[str, Any] = {}
    while time.monotonic() < until:
        fleet.keep_up()
        state = _state(fleet, batch) or state
        if state.get("ended"):
            return state
        time.sleep(0.3)
    return state


def _quiet(fleet: Fleet) -> tuple[list[str], dict[str, Any]]:
    """The broker's problems once it has had its time."""
    assert fleet.farm is not None
    queues = (*QUEUES, "measure.h200")
    until = time.monotonic() + QUIET_SECONDS
    while True:
        problems, facts = check_broker(fleet.farm.redis, queues)
        if not problems or time.monotonic() > until:
            return problems, facts
        fleet.keep_up()
        time.sleep(0.5)


if __name__ == "__main__":
    sys.exit(main())
