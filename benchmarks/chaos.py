"""Chaos: ``python -m benchmarks.chaos [--kills 200]`` kills servers, runners and children with SIGKILL while a batch runs.

Two server processes share one database and artifact folder, on the stand-in toolchain whose steps run in real children. At
random moments one process is killed: a server with its runner, or a child. Servers come back at once. In the end: no job
lost, none done twice, every candidate there once, no artifact half-written, no gap in any job's events, database sound.
Prints one JSON object; exit status 1 when anything is wrong.
"""

import argparse
import contextlib
import json
import multiprocessing
import os
import random
import signal
import socket
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import httpx
import psutil

from service.testing import stand_in_ir
from solver.domain import digest_bytes

__all__ = ["main", "run"]

SCHEDULES = 3
BASELINES = 3


def serve(folder: str, port: int) -> None:
    """One server process with its runner."""
    import uvicorn

    from service.app import create_app
    from service.settings import Settings

    os.setpgrp()
    settings = Settings(
        data=Path(folder),
        job_slots=2,
        build_slots=1,
        toolchain="stand_in_children",
        lease_seconds=2.0,
        heartbeat_seconds=0.4,
        poll_seconds=0.1,
        max_attempts=100_000,
    )
    uvicorn.run(create_app(settings), host="127.0.0.1", port=port, log_level="critical")


class Fleet:
    """The server processes, restarted whenever they are found dead."""

    def __init__(self, folder: Path, size: int) -> None:
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["service.app", "service.testing", "uvicorn"])
        self._folder = folder
        self.ports = [_free_port() for _ in range(size)]
        self.processes: list[BaseProcess | None] = [None] * size
        self.starts = 0

    def keep_up(self) -> None:
        """Start whatever is down."""
        for number, process in enumerate(self.processes):
            if process is None or not process.is_alive():
                started = self._context.Process(target=serve, args=(str(self._folder), self.ports[number]))
                started.start()
                self.processes[number] = started
                self.starts += 1

    def victims(self) -> tuple[list[int], list[int]]:
        """Process ids of servers that are up, and of their children; killing one that still starts would show nothing."""
        servers = [
            process.pid
            for process, port in zip(self.processes, self.ports, strict=True)
            if process is not None and process.pid and process.is_alive() and _listening(port)
        ]
        children: list[int] = []
        for pid in servers:
            with contextlib.suppress(psutil.NoSuchProcess):
                children += [child.pid for child in psutil.Process(pid).children(recursive=True)]
        return servers, children

    def end(self) -> None:
        """Stop all of our servers."""
        for process in self.processes:
            if process is not None and process.is_alive():
                process.kill()
                process.join(10)


def run(
    kills: int, jobs: int, *, seed: int = 1, pause: tuple[float, float] = (0.05, 0.4), limit: float = 900.0
) -> dict[str, Any]:
    """One chaos run; the report's ``problems`` is empty when all is well."""
    dice = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="warpwright-chaos-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        fleet = Fleet(folder, 2)
        begun = time.monotonic()
        killed: Counter[str] = Counter()
        try:
            fleet.keep_up()
            batch = _submit(fleet, jobs, dice)
            until = begun + limit
            while sum(killed.values()) < kills and time.monotonic() < until:
                time.sleep(dice.uniform(*pause))
                servers, children = fleet.victims()
                if servers and not children and dice.random() < 0.7:
                    # A server without children has done nothing yet; most of the time let it come to work first.
                    continue
                kind, pool = ("child", children) if children and dice.random() < 0.5 else ("server", servers)
                if not pool:
                    fleet.keep_up()
                    continue
                with contextlib.suppress(ProcessLookupError):
                    os.kill(dice.choice(pool), signal.SIGKILL)
                    killed[kind] += 1
                fleet.keep_up()
            ended_early = _state(fleet, batch).get("ended", False)
            state = _wait(fleet, batch, until + 120.0)
        finally:
            fleet.end()
        problems = _check(folder, batch, jobs, state)
        return {
            "kills": dict(killed),
            "server_starts": fleet.starts,
            "jobs": jobs,
            "batch_ended_before_the_last_kill": ended_early,
            "attempts": _attempts(folder),
            "counts": state.get("counts", {}),
            "seconds": round(time.monotonic() - begun, 1),
            "problems": problems,
        }


def main() -> int:
    """Print the report."""
    parser = argparse.ArgumentParser(description="Kill processes at random while a batch runs, then check everything.")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=120)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    report = run(arguments.kills, arguments.jobs, seed=arguments.seed)
    print(json.dumps(report, indent=1))
    return 1 if report["problems"] else 0


def _submit(fleet: Fleet, jobs: int, dice: random.Random) -> str:
    lines = [
        json.dumps(
            {"ir": stand_in_ir(schedules=SCHEDULES, seconds=dice.uniform(0.02, 0.1), salt=str(n)), "profile": "h200"}
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


def _check(folder: Path, batch: str, jobs: int, state: dict[str, Any]) -> list[str]:
    """Everything that is wrong, in words."""
    problems: list[str] = []
    if state.get("counts") != {"done": jobs}:
        problems.append(f"the batch ended as {state.get('counts')}, not with {jobs} done")
    connection = sqlite3.connect(folder / "warpwright.db", timeout=60)

    def rows(query: str) -> list[tuple[Any, ...]]:
        return connection.execute(query).fetchall()

    if rows("PRAGMA integrity_check") != [("ok",)] or rows("PRAGMA foreign_key_check"):
        problems.append("the database is not sound")
    if rows("SELECT count(*), count(DISTINCT job_id) FROM batch_items") != [(jobs, jobs)]:
        problems.append("lines were lost or share jobs that they should not")
    problems += [
        f"{job}: {count} ends"
        for job, count in rows(
            "SELECT job_id, count(*) FROM job_events WHERE kind = 'state' AND json_extract(data, '$.state') = 'done'"
            " GROUP BY job_id HAVING count(*) <> 1"
        )
    ]
    problems += [
        f"{job}: events {least} to {most} are {count}"
        for job, least, most, count in rows(
            "SELECT job_id, min(number), max(number), count(*) FROM job_events GROUP BY job_id"
            " HAVING min(number) <> 1 OR max(number) <> count(*)"
        )
    ]
    wanted = SCHEDULES + BASELINES
    problems += [
        f"{job}: {count} candidates, {built} built"
        for job, count, built in rows(
            "SELECT job_id, count(*), sum(outcome = 'compiled') FROM candidates GROUP BY job_id"
            f" HAVING count(*) <> {wanted} OR sum(outcome = 'compiled') <> {wanted}"
        )
    ]
    open_attempts = rows("SELECT count(*) FROM job_attempts WHERE ended_at IS NULL")[0][0]
    if open_attempts:
        problems.append(f"{open_attempts} attempts without an end")
    problems += _check_artifacts(folder, rows("SELECT digest FROM artifacts"))
    connection.close()
    return problems


def _check_artifacts(folder: Path, known: Sequence[tuple[Any, ...]]) -> list[str]:
    problems: list[str] = []
    there = set()
    for path in (folder / "artifacts").glob("??/*"):
        if path.name.startswith(".part-"):
            continue
        digest = f"sha256:{path.parent.name}{path.name}"
        there.add(digest)
        if digest_bytes(path.read_bytes()) != digest:
            problems.append(f"artifact {digest} is half-written")
    return problems + [f"artifact {row[0]} has a row and no file" for row in known if row[0] not in there]


def _attempts(folder: Path) -> int:
    connection = sqlite3.connect(folder / "warpwright.db", timeout=60)
    try:
        return int(connection.execute("SELECT count(*) FROM job_attempts").fetchone()[0])
    finally:
        connection.close()


def _listening(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1.0)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


if __name__ == "__main__":
    sys.exit(main())
