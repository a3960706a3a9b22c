"""The Celery application: JSON only, prefork, late acknowledgement, one queue per capability. Workers and the engine share it.

A task is acknowledged when it has ended, so a killed process's task goes to another; it runs in a supervised child of the
worker, so that a hang or a crash costs the child and not the worker. While it runs, the worker keeps a key alive in Redis:
when that stops, the engine gives the task out again without waiting for Redis's visibility timeout.
"""

import os
import threading
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from celery import Celery

from lowering.children import Limits, ProtocolBroken, run_task
from service.engines.local import files_in
from service.engines.transfer import TransferFailed, upload
from service.engines.wire import reply_to_json

__all__ = ["QUEUES", "TASK", "alive_key", "make_celery", "queue_of"]

QUEUES = ("solve", "frontend", "compile.cuda", "compile.ascend")
TASK = "warpwright.run"
BEAT_SECONDS = 1.0
ALIVE_SECONDS = 5
HARD_LIMIT_SECONDS = 7200


def queue_of(task: str) -> str:
    """The queue of a task: what a worker must be able to do."""
    if task.startswith(("propose.", "solve.", "explain.")):
        return "solve"
    return task if task in QUEUES else "frontend"


def alive_key(task_id: str) -> str:
    """The key that lives while a worker works on a task."""
    return f"warpwright-alive:{task_id}"


def make_celery(broker_url: str, *, visibility_seconds: int = HARD_LIMIT_SECONDS + 600) -> Celery:
    """The application on one broker. ``visibility_seconds`` must exceed the longest task: Redis delivers again after it."""
    app = Celery("warpwright", broker=broker_url, backend=broker_url)
    options = {"visibility_timeout": visibility_seconds}
    app.conf.update(
        task_serializer="json",
        result_serializer="json",
        accept_content=["json"],
        result_accept_content=["json"],
        task_acks_late=True,
        task_reject_on_worker_lost=True,
        task_time_limit=HARD_LIMIT_SECONDS,
        worker_prefetch_multiplier=1,
        task_track_started=True,
        result_expires=3600,
        broker_transport_options=options,
        result_backend_transport_options=options,
        broker_connection_retry_on_startup=True,
        worker_hijack_root_logger=False,
        worker_enable_remote_control=True,
    )

    def run(self: Any, request: dict[str, Any]) -> dict[str, Any]:
        ended = threading.Event()
        key = alive_key(self.request.id)
        client = app.backend.client

        def beat() -> None:
            client.set(key, os.getpid(), ex=ALIVE_SECONDS)
            while not ended.wait(BEAT_SECONDS):
                client.set(key, os.getpid(), ex=ALIVE_SECONDS)

        thread = threading.Thread(target=beat, daemon=True)
        thread.start()
        try:
            return perform(request)
        finally:
            ended.set()
            thread.join()
            client.delete(key)

    app.task(name=TASK, bind=True)(run)
    return app


def perform(request: dict[str, Any]) -> dict[str, Any]:
    """One request in a child of this worker; its files go to the service by digest."""
    limits = Limits(**request["limits"])
    payload = request["payload"]
    if not request["output"]:
        reply = run_task(request["task"], payload, limits, trace=request["trace"])
        return {"reply": reply_to_json(reply), "files": {}}
    with TemporaryDirectory(prefix="warpwright-output-") as folder:
        reply = run_task(request["task"], {**payload, "output": folder}, limits, trace=request["trace"])
        url = os.environ.get("WARPWRIGHT_SERVICE_URL", request["service"])
        try:
            files = upload(files_in(Path(folder)), url, os.environ.get("WARPWRIGHT_TOKEN", ""))
        except TransferFailed as error:
            return {"reply": reply_to_json(ProtocolBroken(error.message)), "files": {}}
    return {"reply": reply_to_json(reply), "files": files}
