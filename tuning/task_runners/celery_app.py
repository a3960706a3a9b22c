"""The Celery application: JSON only, prefork, late acknowledgement, one queue per capability. Workers and the Celery
runner share it.

Redis delivers again what was not acknowledged within the visibility timeout. It is short here, however long a task
takes: a second delivery of a running task, or of one that nobody asks for, is dropped by the ledger, and a task whose
worker died between taking and beginning it is delivered again soon.
"""

from collections.abc import Callable
from typing import Any

from celery import Celery
from celery.exceptions import Ignore
from opentelemetry.trace import SpanKind
from structlog.contextvars import bound_contextvars

from warpwright.tuning import telemetry
from warpwright.tuning.children.trace import trace_id_of
from warpwright.tuning.task_runners.ledger import SILENCE_SECONDS, Ledger

__all__ = ["TASK", "Work", "ledger_of", "make_celery"]

TASK = "warpwright.run"
HARD_LIMIT_SECONDS = 7200
VISIBILITY_SECONDS = 30

Work = Callable[[dict[str, Any], str, str, Ledger], dict[str, Any] | None]
"""Performs one request, given the request, the task's id, the worker's name and the ledger. None: another worker has
the task, or nobody asks for it.
"""


def make_celery(
    broker_url: str,
    work: Work | None = None,
    *,
    visibility_seconds: int = VISIBILITY_SECONDS,
    silence_seconds: int = SILENCE_SECONDS,
) -> Celery:
    """The application on one broker; only workers have ``work``."""
    app = Celery("warpwright", broker=broker_url, backend=broker_url)
    options = {
        "visibility_timeout": visibility_seconds,
        # Kombu looks for what was not acknowledged on every tenth call of a ten-second timer, under a lock that a killed
        # worker leaves for five minutes: by its defaults a task could be away for 100 to 300 s, whatever the timeout says.
        "unacked_restore_interval": max(1, visibility_seconds // 3),
        "unacked_restore_throttle": 1,
        "unacked_mutex_expire": visibility_seconds,
    }
    app.conf.update(
        task_serializer="json",
        result_serializer="json",
        accept_content=["json"],
        result_accept_content=["json"],
        task_acks_late=True,
        # A lost pool process is reported to the runner, which sends the task out again under a new id; a redelivery under
        # the old one would be refused by the ledger until the dead process's key has run out.
        task_reject_on_worker_lost=False,
        task_time_limit=HARD_LIMIT_SECONDS,
        worker_prefetch_multiplier=1,
        result_expires=3600,
        broker_transport_options=options,
        result_backend_transport_options=options,
        broker_connection_retry_on_startup=True,
        worker_hijack_root_logger=False,
        worker_enable_remote_control=True,
        worker_send_task_events=False,
    )

    def run(self: Any, request: dict[str, Any]) -> dict[str, Any]:
        ledger = ledger_of(app, silence_seconds)
        parent = {"traceparent": str(self.request.get("traceparent") or "")}
        with (
            bound_contextvars(trace=trace_id_of(request["trace"])),
            telemetry.span(f"task {request['task']}", kind=SpanKind.CONSUMER, parent=parent),
        ):
            answer = work(request, self.request.id, self.request.hostname, ledger) if work is not None else None
        if answer is None:
            raise Ignore
        return answer

    app.task(name=TASK, bind=True)(run)
    return app


def ledger_of(app: Celery, silence_seconds: int = SILENCE_SECONDS) -> Ledger:
    """The ledger on the application's broker."""
    return Ledger(app.backend.client, silence_seconds)
