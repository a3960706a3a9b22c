"""One task on a worker: taken in the ledger, run in a supervised child, stopped once nobody asks for it."""

import os
import secrets
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import structlog
from opentelemetry.trace import get_current_span

from warpwright.tuning import telemetry
from warpwright.tuning.children import Cancelled, ChildPool, Limits, ProtocolBroken, Raised, Reply, Returned
from warpwright.tuning.children.process import OnEvent
from warpwright.tuning.task_runners.ledger import Ledger
from warpwright.tuning.task_runners.local import files_in, keep
from warpwright.tuning.task_runners.queues import SESSION, SOLVER_TASKS, measuring
from warpwright.tuning.task_runners.transfer import TransferFailed, download, upload
from warpwright.tuning.task_runners.wire import reply_to_json

__all__ = ["Duty"]

log = structlog.get_logger(__name__)

BEAT_SECONDS = 0.25
"""Also the delay until a worker notices that nobody asks any more; a cancelled task must end within a second."""

PATIENCE_BEATS = 20
"""Heartbeats that may fail (a broker that restarts) before the task is abandoned: by then another worker has it."""


class Duty:
    """Performs requests in warm children of this process; made once and used in the worker's forked pool processes.

    Args:
        devices: options of this machine's devices by capability (``measure.<profile>``).
        service_url: where files come from and go to; the request's own address when empty.
        token: for the service, scope ``work``.
    """

    def __init__(
        self, devices: Mapping[str, Mapping[str, Any]] | None = None, service_url: str = "", token: str = ""
    ) -> None:
        self._devices = dict(devices or {})
        self._service = service_url
        self._token = token
        self._pools: dict[bool, ChildPool] = {}

    def __call__(self, request: dict[str, Any], task_id: str, worker: str, ledger: Ledger) -> dict[str, Any] | None:
        """The answer to one request; None if this worker must not do the task."""
        me = f"{worker}:{os.getpid()}:{secrets.token_hex(4)}"
        if not ledger.take(task_id, me):
            log.info("task-not-wanted", task=request["task"])
            return None
        with self._beating(task_id, me, ledger) as cancel:
            reply, files = self._perform(request, cancel, lambda event: _spared(lambda: ledger.tell(task_id, event)))
        # The working key is left to expire: the answer is stored after this, and nobody may look in between.
        error, healthy = _own_error(request["task"], reply), _health(request["task"], reply)
        _spared(lambda: ledger.note(worker, error=error, healthy=healthy))
        return {"reply": reply_to_json(reply), "files": files}

    def close(self) -> None:
        """End the children of this process."""
        for pool in self._pools.values():
            pool.close()

    @contextmanager
    def _beating(self, task_id: str, me: str, ledger: Ledger) -> Iterator[threading.Event]:
        ended, cancel = threading.Event(), threading.Event()

        def beat() -> None:
            failed = 0
            while not ended.wait(BEAT_SECONDS):
                try:
                    wanted, failed = ledger.beat(task_id, me), 0
                except Exception:  # noqa: BLE001 - whatever the broker's client raises, the task continues until too many heartbeats failed
                    failed += 1
                    wanted = failed < PATIENCE_BEATS
                if not wanted:
                    cancel.set()
                    return

        thread = threading.Thread(target=beat, name="beat", daemon=True)
        thread.start()
        try:
            yield cancel
        finally:
            ended.set()
            thread.join()

    def _perform(self, request: dict[str, Any], cancel: threading.Event, tell: OnEvent) -> tuple[Reply, dict[str, str]]:
        task, payload, limits = str(request["task"]), dict(request["payload"]), Limits(**request["limits"])
        service = self._service or str(request["service"])
        if task == SESSION:
            options = self._devices.get(measuring(str(payload["profile"])))
            if options is None:
                return ProtocolBroken(f"this worker has no device for {payload['profile']!r}"), {}
            payload["device"] = dict(options)
        trace = telemetry.traceparent() or str(request["trace"])
        pool = self._pools.setdefault(task.startswith(SOLVER_TASKS), ChildPool(1))
        with tempfile.TemporaryDirectory(prefix="warpwright-task-") as folder:
            output = Path(folder, "output")
            output.mkdir()
            try:
                if request["inputs"]:
                    files = download(request["inputs"], service, self._token)
                    payload["input"] = keep(files, Path(folder, "input"))
                if request["output"]:
                    payload["output"] = str(output)
                reply = pool.run(task, payload, limits, trace=trace, cancel=cancel, on_event=tell)
                telemetry.ended(get_current_span(), reply)
                # Also for a stopped task: a search keeps its best answer. Nobody waits for that of a cancelled one.
                files = files_in(output) if not cancel.is_set() else {}
                return reply, upload(files, service, self._token)
            except TransferFailed as error:
                return ProtocolBroken(error.message), {}


def _spared(tell: Callable[[], None]) -> None:
    """Tell the broker something that is also in the answer, or only shown to people; it may not answer."""
    try:
        tell()
    except Exception as error:  # noqa: BLE001 - whatever its client raises, the task is not to blame
        log.warning("broker-silent", error=str(error)[:200])


def _own_error(task: str, reply: Reply) -> dict[str, Any] | None:
    """The worker's own error; a candidate that fails or a refusal is not one."""
    if isinstance(reply, Raised | ProtocolBroken):
        return {"code": type(reply).__name__, "message": reply.message[:500], "task": task}
    return None


def _health(task: str, reply: Reply) -> bool | None:
    """Whether the device of this worker is healthy; None if the task does not say."""
    if task != SESSION or isinstance(reply, Cancelled) or not isinstance(reply, Returned):
        return None
    return not reply.value.get("device_lost", False)
