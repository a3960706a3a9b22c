"""The processes of a chaos run: a server, runners, their children, and for Celery a Redis and workers; any may be killed."""

import contextlib
import multiprocessing
import os
import random
import signal
import socket
import time
import uuid
from multiprocessing.process import BaseProcess
from pathlib import Path

import psutil

from warpwright.service.testing.farm import TemporaryFarm, end_with_starter
from warpwright.tuning.testing.on_runner import SIMULATED

__all__ = ["Fleet"]

MARK = "WARPWRIGHT_TEST_CHAOS"
RUNNERS = 2
WORKERS = 3
IDLE_SPARED = 0.97
PRELOAD = [
    "warpwright.service.app",
    "warpwright.tuning.testing.on_runner",
    "warpwright.tuning.workers.celery_worker",
    "uvicorn",
]


def serve(folder: str, database_url: str, port: int, job_slots: int, broker_url: str, log: str) -> None:
    """One service process; without job slots it answers requests only."""
    import uvicorn

    from warpwright.service.app import create_app
    from warpwright.service.settings import Settings

    os.setpgrp()
    end_with_starter()
    _log_to(log)
    settings = Settings(
        data=Path(folder),
        database_url=database_url,
        port=port,
        job_slots=job_slots,
        build_slots=1,
        toolchain="stand_in_children",
        task_runner="celery" if broker_url else "local",
        broker_url=broker_url,
        lease_seconds=4.0,
        heartbeat_seconds=0.5,
        poll_seconds=0.1,
        max_attempts=100_000,
    )
    uvicorn.run(create_app(settings), host="127.0.0.1", port=port, log_level="critical")


class Fleet:
    """All processes, started again whenever they are found dead. The first service answers, the others run jobs."""

    def __init__(self, folder: Path, database_url: str, runner: str) -> None:
        self.mark = uuid.uuid4().hex
        os.environ[MARK] = self.mark  # inherited by every child, so that what is left can be found
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(PRELOAD)
        self._folder, self._database_url = folder, database_url
        self._log = str(folder / "log.txt")
        self.farm = (
            TemporaryFarm(0, devices=[SIMULATED], preload=PRELOAD, log=self._log) if runner == "celery" else None
        )
        self._broker = self.farm.broker_url if self.farm else ""
        self.ports = [_free_port() for _ in range(1 + RUNNERS)]
        self.services: list[BaseProcess | None] = [None] * len(self.ports)
        self.workers: list[BaseProcess | None] = [None] * (WORKERS if self.farm else 0)
        self.starts = 0

    def keep_up(self) -> None:
        """Start whatever is down."""
        for number, process in enumerate(self.services):
            if process is None or not process.is_alive():
                slots = 2 if number else 0
                arguments = (str(self._folder), self._database_url, self.ports[number], slots, self._broker, self._log)
                started = self._context.Process(target=serve, args=arguments)
                started.start()
                self.services[number] = started
                self.starts += 1
        for number, process in enumerate(self.workers):
            if self.farm is not None and (process is None or not process.is_alive()):
                self.workers[number] = self.farm.start_worker()
                self.starts += 1

    def victims(self) -> dict[str, list[int]]:
        """Process ids by kind, of processes that are up; killing one that is still starting would show nothing."""
        found: dict[str, list[int]] = {"server": [], "runner": [], "worker": [], "pool": [], "child": []}
        for number, (process, port) in enumerate(zip(self.services, self.ports, strict=True)):
            if process is not None and process.pid and process.is_alive() and _listening(port):
                found["runner" if number else "server"].append(process.pid)
                found["child"] += [child.pid for child in _below(process.pid)]
        for process in self.workers:
            if process is not None and process.pid and process.is_alive():
                children, pools = _split(_below(process.pid))
                if pools:  # before that it probes its devices, and takes no task yet
                    found["worker"].append(process.pid)
                    found["pool"] += pools
                    found["child"] += children
        return {kind: pids for kind, pids in found.items() if pids}

    def kill_one(self, dice: random.Random) -> str:
        """SIGKILL to one process of a kind chosen first, so that the many children are not the only ones that are
        killed; its kind.
        """
        victims = self.victims()
        if not victims or ("child" not in victims and dice.random() < IDLE_SPARED):
            # Nothing is running; most of the time wait until something is, or only starting processes would be killed.
            return ""
        kind = dice.choice(sorted(victims))
        try:
            os.kill(dice.choice(sorted(victims[kind])), signal.SIGKILL)
        except ProcessLookupError:
            return ""
        return kind

    def end(self) -> int:
        """Stop everything, workers first; the number of processes that outlived their parents."""
        for process in (*self.workers, *self.services):
            if process is not None and process.is_alive():
                process.kill()
                process.join(10)
        left = self._left()
        until = time.monotonic() + 20.0
        while left and time.monotonic() < until:
            time.sleep(0.2)
            left = self._left()
        for process_ in left:
            with contextlib.suppress(psutil.Error):
                process_.kill()
        if self.farm is not None:
            self.farm.close()
        os.environ.pop(MARK, None)
        return len(left)

    def log(self) -> str:
        """What the processes printed."""
        path = Path(self._log)
        return path.read_text(errors="replace") if path.exists() else ""

    def _left(self) -> list[psutil.Process]:
        """Processes of this run except Redis and Python's own: a fork server and a resource tracker."""
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                if process.pid == os.getpid() or process.environ().get(MARK) != self.mark:
                    continue
                if process.status() == psutil.STATUS_ZOMBIE or process.ppid() == os.getpid():
                    continue
                if "redis" not in process.name():
                    found.append(process)
        return found


def _below(pid: int) -> list[psutil.Process]:
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.Error:
        return []


def _split(below: list[psutil.Process]) -> tuple[list[int], list[int]]:
    """Process ids of supervised children, and of the others: a worker's pool."""
    children: list[int] = []
    pools: list[int] = []
    for process in below:
        with contextlib.suppress(psutil.Error):
            supervised = "warpwright.tuning.children.main" in process.cmdline()
            (children if supervised else pools).append(process.pid)
    return children, pools


def _listening(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1.0)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def _log_to(path: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
