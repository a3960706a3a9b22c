"""A worker's heartbeat: reports its identity and state to the service, offers its capabilities, and obeys a drain.

It runs in the worker's main process beside Celery's own loop. If the service does not answer, only the report is lost: tasks
come from the broker.
"""

import contextlib
import platform
import threading
import time
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import httpx
import structlog
from celery import Celery

from warpwright.tuning.children import Limits, Returned, run_task
from warpwright.tuning.measure.devices import FoundDevice
from warpwright.tuning.task_runners.ledger import Ledger
from warpwright.tuning.task_runners.queues import measuring

__all__ = ["Heartbeat"]

log = structlog.get_logger(__name__)

BEAT_SECONDS = 3.0
REPROBE_SECONDS = 30.0
PROBE = Limits(wall_seconds=60.0, memory_bytes=64 << 30)
PACKAGES = ("warpwright", "celery", "tilelang", "torch")


class Heartbeat:
    """The heartbeat of one worker. All methods but ``beat`` receive Celery's signals."""

    def __init__(
        self,
        app: Celery,
        ledger: Ledger,
        capabilities: Sequence[str],
        devices: Mapping[str, FoundDevice],
        compilers: Mapping[str, str],
        *,
        service_url: str = "",
        token: str = "",
        seconds: float = BEAT_SECONDS,
    ) -> None:
        self._app = app
        self._ledger = ledger
        self._capabilities = tuple(capabilities)
        self._devices = dict(devices)
        self._compilers = dict(compilers)
        self._seconds = seconds
        self._name = ""
        self._taken = set(self._capabilities)
        self._draining = False
        self._until_probe = 0.0
        self._ending = threading.Event()
        headers = {"authorization": f"Bearer {token}"} if token else {}
        self._started = time.monotonic()
        self._service = service_url
        self._headers = headers

    def before_work(self, sender: str, instance: Any, **_: Any) -> None:
        """Learn the worker's name; a worker that was drained before its restart takes nothing at first."""
        self._name = sender
        self._draining = self._report(*self._ledger.noted(self._name))
        if self._draining:
            for queue in self._capabilities:
                instance.app.amqp.queues.deselect(queue)
            self._taken = set()

    def start(self, **_: Any) -> None:
        """Start the heartbeat."""
        threading.Thread(target=self._run, name="heartbeat", daemon=True).start()

    def stop(self, **_: Any) -> None:
        """Withdraw all offers; running tasks continue."""
        self._ending.set()
        # So that a worker with newer compilers may start at once; an offered device may come back in a moment.
        with contextlib.suppress(Exception):
            self._ledger.withdraw(self._compilers)

    def beat(self) -> None:
        """One report, and what follows from its answer."""
        done, error, healthy = self._ledger.noted(self._name)
        if not healthy:
            healthy = self._probe()
        self._draining = self._report(done, error, healthy)
        self._take(set() if self._draining else set(self._capabilities) - (set() if healthy else set(self._devices)))
        if self._taken:
            self._ledger.offer(self._taken, self._compilers)

    def _run(self) -> None:
        while True:
            try:
                self.beat()
            except Exception as error:  # noqa: BLE001 - the broker may be unavailable; the worker itself waits for it too
                log.warning("heartbeat-broke", error=str(error)[:200])
            if self._ending.wait(self._seconds):
                return

    def _take(self, wanted: set[str]) -> None:
        """Consume exactly these queues from now on; running tasks are not affected."""
        for queue in sorted(self._taken - wanted):
            self._app.control.cancel_consumer(queue, destination=[self._name])
        for queue in sorted(wanted - self._taken):
            self._app.control.add_consumer(queue, destination=[self._name])
        if self._taken != wanted:
            log.info("worker-takes", worker=self._name, queues=sorted(wanted), draining=self._draining)
        self._taken = wanted

    def _probe(self) -> bool:
        """Check the canary of the devices again at intervals."""
        self._until_probe -= self._seconds
        if self._until_probe > 0:
            return False
        self._until_probe = REPROBE_SECONDS
        for device in self._devices.values():
            reply = run_task("measure.device", {"action": "probe", "device": device.options}, PROBE)
            if not (isinstance(reply, Returned) and reply.value.get("canary")):
                return False
        self._until_probe = 0.0
        self._ledger.set_healthy(self._name, healthy=True)
        return True

    def _report(self, done: int, error: dict[str, Any] | None, healthy: bool) -> bool:
        """Whether the service wants this worker drained; unchanged while it cannot be asked."""
        if not self._service:
            return self._draining
        report = {
            "capabilities": list(self._capabilities),
            "devices": [
                {"for": name.removeprefix(measuring("")), **each.facts} for name, each in self._devices.items()
            ],
            "versions": _versions(),
            "healthy": healthy,
            "last_error": error,
            "tasks_done": done,
            "uptime_seconds": round(time.monotonic() - self._started, 3),
        }
        try:
            with httpx.Client(
                base_url=self._service, headers=self._headers, timeout=10.0, verify=self._service.startswith("https")
            ) as client:
                answer = client.put(f"/v1/workers/{self._name}", json=report)
                answer.raise_for_status()
                return bool(answer.json()["draining"])
        except (httpx.HTTPError, ValueError, KeyError) as error_:
            log.warning("service-away", service=self._service, error=str(error_)[:200])
            return self._draining


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
