"""The Celery engine: the same JSON tasks, on workers of other machines. Extra ``cluster``."""

import threading
import time
import uuid
from dataclasses import asdict
from typing import Any

import structlog

from lowering.children import Cancelled, Limits, ProtocolBroken
from service.artifacts.store import ArtifactStore
from service.engines.celery_app import ALIVE_SECONDS, TASK, alive_key, make_celery, queue_of
from service.engines.wire import reply_from_json
from service.errors import Gone, NotFound
from service.settings import Settings
from service.tuning.engine import TaskAnswer

__all__ = ["CeleryEngine"]

log = structlog.get_logger(__name__)

POLL_SECONDS = 0.05
DELIVERIES = 3


class CeleryEngine:
    """Sends tasks to the queue of their capability and waits. A task whose worker fell silent is given out again."""

    def __init__(self, settings: Settings) -> None:
        self._app = make_celery(settings.broker_url)
        self._store = ArtifactStore(settings.artifacts, sync=settings.slow_artifact_sync)
        host = "127.0.0.1" if settings.host in ("0.0.0.0", "::") else settings.host
        self._service = f"http://{host}:{settings.port}"

    def run(
        self,
        task: str,
        payload: dict[str, Any],
        limits: Limits,
        *,
        cancel: threading.Event,
        trace: str = "",
        output: bool = False,
    ) -> TaskAnswer:
        """Run one task on some worker."""
        request = {
            "task": task,
            "payload": payload,
            "limits": asdict(limits),
            "trace": trace,
            "output": output,
            "service": self._service,
        }
        for delivery in range(DELIVERIES):
            answer = self._deliver(request, limits, cancel)
            if answer is not None:
                return self._answered(answer)
            log.warning("worker-silent", task=task, delivery=delivery + 1)
        return TaskAnswer(ProtocolBroken(f"{DELIVERIES} workers fell silent over this task"))

    def close(self) -> None:
        """Close the connections to the broker."""
        self._app.close()

    def _deliver(self, request: dict[str, Any], limits: Limits, cancel: threading.Event) -> dict[str, Any] | None:
        """One delivery's answer; None when its worker fell silent."""
        task_id = uuid.uuid4().hex
        hard = int(limits.start_seconds + limits.wall_seconds) + 30
        result = self._app.send_task(
            TASK, [request], task_id=task_id, queue=queue_of(request["task"]), time_limit=hard, serializer="json"
        )
        started_at: float | None = None
        heard_at = time.monotonic()
        try:
            while True:
                meta = self._app.backend.get_task_meta(task_id)
                if meta["status"] == "SUCCESS":
                    answer: dict[str, Any] = meta["result"]
                    return answer
                if meta["status"] in ("FAILURE", "REVOKED"):
                    return {"reply": {"kind": "ProtocolBroken", "message": str(meta["result"])[:500]}, "files": {}}
                if cancel.wait(POLL_SECONDS):
                    self._app.control.revoke(task_id, terminate=True, signal="SIGKILL")
                    return {"reply": {"kind": "Cancelled"}, "files": {}}
                if meta["status"] == "STARTED":
                    moment = time.monotonic()
                    started_at = started_at or moment
                    if self._app.backend.client.exists(alive_key(task_id)):
                        heard_at = moment
                    elif moment - max(heard_at, started_at) > ALIVE_SECONDS:
                        # The late answer of a worker that was only slow is thrown away with its id.
                        self._app.control.revoke(task_id)
                        return None
        finally:
            result.forget()

    def _answered(self, answer: dict[str, Any]) -> TaskAnswer:
        reply = reply_from_json(dict(answer["reply"]))
        if isinstance(reply, Cancelled):
            return TaskAnswer(reply)
        files: dict[str, bytes] = {}
        try:
            for name, digest in answer["files"].items():
                files[str(name)] = self._store.get(str(digest))
        except (NotFound, Gone) as error:
            return TaskAnswer(ProtocolBroken(f"a worker's file did not arrive: {error.message}"))
        return TaskAnswer(reply, files)
