"""The Celery runner: the same JSON tasks, on workers of other machines. Extra ``cluster``."""

import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import Any

import structlog
from kombu.exceptions import OperationalError
from opentelemetry.trace import SpanKind
from redis.exceptions import RedisError

from warpwright.tuning import telemetry
from warpwright.tuning.children import Cancelled, Limits, ProtocolBroken
from warpwright.tuning.children.process import OnEvent
from warpwright.tuning.outage import Outage
from warpwright.tuning.task_runner import TaskAnswer
from warpwright.tuning.task_runners.celery_app import TASK, ledger_of, make_celery
from warpwright.tuning.task_runners.files import FileMissing, FileStore
from warpwright.tuning.task_runners.queues import queue_of
from warpwright.tuning.task_runners.wire import reply_from_json

__all__ = ["BrokerAway", "CeleryRunner", "WorkersAway"]

log = structlog.get_logger(__name__)

DELIVERIES = 3
POLL_SECONDS = (0.005, 0.25)
"""First and longest pause between polls for the answer: short steps end soon, long ones cost the broker little."""
ASK_EVERY_SECONDS = 1.0
COMPILERS_SECONDS = 3.0
"""How long the workers' compilers are cached: every lookup of a result asks for them."""
BROKER_SECONDS = 60.0
"""A broker that does not answer for this long counts as unavailable, and jobs wait for it; a shorter restart goes unnoticed."""
SEND_SECONDS = 10.0
"""The same before a task is sent out. Shorter, because a request may be waiting for it and nothing has been done yet."""
HARD_LIMIT_MARGIN_SECONDS = 30


class BrokerAway(Outage):
    """The broker does not answer: no task can be sent out, no answer fetched."""

    code = "broker-away"


class WorkersAway(Outage):
    """No live worker takes tasks of this kind, and none appeared within the task's time limit."""

    code = "workers-away"


class CeleryRunner:
    """Sends tasks to the queue of their capability and waits. A task whose worker has no recent heartbeat is sent out again."""

    def __init__(self, broker_url: str, files: FileStore, service_url: str) -> None:
        """Connect to a broker.

        Args:
            broker_url: Redis, which holds queues and answers.
            files: where inputs and products lie by digest; workers fetch and send them over HTTP.
            service_url: where workers that know no better address send files.
        """
        self._app = make_celery(broker_url)
        # Celery would subscribe to every answer, on a connection that nobody reads while this runner polls.
        self._app.backend.on_task_call = lambda producer, task_id: None
        self._ledger = ledger_of(self._app)
        self._compilers: dict[str, tuple[str, float]] = {}
        self._files = files
        self.service_url = service_url

    def run(
        self,
        task: str,
        payload: dict[str, Any],
        limits: Limits,
        *,
        cancel: threading.Event,
        trace: str = "",
        output: bool = False,
        on_event: OnEvent | None = None,
        inputs: Mapping[str, bytes] | None = None,
    ) -> TaskAnswer:
        """Run one task on some worker."""
        request = {
            "task": task,
            "payload": payload,
            "limits": asdict(limits),
            "trace": trace,
            "output": output,
            "inputs": {name: self._files.put(data) for name, data in (inputs or {}).items()},
            "service": self.service_url,
        }
        with telemetry.span(f"send {task}", kind=SpanKind.PRODUCER) as span:
            found = self._until_answered(request, limits, cancel, on_event)
            telemetry.ended(span, found.reply)
            return found

    def offers(self, capability: str) -> bool:
        """Whether a live worker takes tasks of this capability; False while the broker does not answer."""
        try:
            return self._ledger.offered(capability)
        except RedisError:
            return False

    def missing(self, capabilities: Sequence[str]) -> tuple[str, ...]:
        """Those of the capabilities that no live worker offers; none of them while the broker does not answer."""
        try:
            return tuple(each for each in capabilities if not self._ledger.offered(each))
        except RedisError:
            return ()

    def compilers(self, capability: str) -> str:
        """The workers' compilers; the last known ones while no worker is up or the broker does not answer."""
        known, until = self._compilers.get(capability, ("", 0.0))
        if time.monotonic() > until:
            with suppress(RedisError):
                known = self._ledger.compilers(capability) or known
            self._compilers[capability] = (known, time.monotonic() + COMPILERS_SECONDS)
        return known

    def available(self) -> bool:
        """Whether the broker answers."""
        try:
            self._ledger.ping()
        except RedisError:
            return False
        return True

    def close(self) -> None:
        """Close the connections to the broker."""
        self._app.close()

    def _until_answered(
        self, request: dict[str, Any], limits: Limits, cancel: threading.Event, on_event: OnEvent | None
    ) -> TaskAnswer:
        for delivery in range(DELIVERIES):
            answer = self._deliver(request, limits, cancel, on_event)
            if answer is not None:
                return self._answered(answer)
            log.warning("worker-silent", task=request["task"], delivery=delivery + 1)
        return TaskAnswer(ProtocolBroken(f"{DELIVERIES} workers stopped sending heartbeats during this task"))

    def _deliver(
        self, request: dict[str, Any], limits: Limits, cancel: threading.Event, on_event: OnEvent | None
    ) -> dict[str, Any] | None:
        """One delivery's answer; None if its worker, or the broker's memory, is gone."""
        task_id = uuid.uuid4().hex
        queue = queue_of(request["task"], request["payload"])
        hard = int(limits.start_seconds + limits.wall_seconds) + HARD_LIMIT_MARGIN_SECONDS
        delivery = _Delivery(task_id, queue, limits.wall_seconds, on_event)
        try:
            if not self._sent(delivery, request, hard, cancel):
                return {"reply": {"kind": "Cancelled"}, "files": {}}
            return self._wait(delivery, cancel)
        except (RedisError, OperationalError) as error:
            raise BrokerAway(f"the broker does not answer: {error}") from error
        finally:
            self._leave(task_id)

    def _sent(self, delivery: "_Delivery", request: dict[str, Any], hard: int, cancel: threading.Event) -> bool:
        """Send a delivery out, waiting for a broker that restarts; False if it was cancelled meanwhile."""
        until = time.monotonic() + SEND_SECONDS
        while not cancel.is_set():
            try:
                self._ledger.ask(delivery.task_id)
                self._app.send_task(
                    TASK,
                    [request],
                    task_id=delivery.task_id,
                    queue=delivery.queue,
                    time_limit=hard,
                    serializer="json",
                    headers=telemetry.carrier(),
                    retry=False,  # retried here, where a cancellation is seen
                )
            except (RedisError, OperationalError):
                if time.monotonic() > until:
                    raise
                cancel.wait(POLL_SECONDS[1])
            else:
                delivery.begins()
                return True
        return False

    def _wait(self, delivery: "_Delivery", cancel: threading.Event) -> dict[str, Any] | None:
        pause, trouble_at = POLL_SECONDS[0], None
        while True:
            if cancel.wait(pause):
                return {"reply": {"kind": "Cancelled"}, "files": {}}
            pause = min(pause * 1.3, POLL_SECONDS[1])
            try:
                found = self._look(delivery)
            except (RedisError, OperationalError):
                trouble_at = trouble_at or time.monotonic()
                if time.monotonic() - trouble_at > BROKER_SECONDS:
                    raise
                pause = POLL_SECONDS[1]
                continue
            trouble_at = None
            if found is not _NOTHING_YET:
                return found

    def _look(self, delivery: "_Delivery") -> dict[str, Any] | None:
        """The answer, ``_NOTHING_YET``, or None if the task must be sent out again."""
        meta = self._app.backend.get_task_meta(delivery.task_id, cache=False)
        if delivery.on_event is not None:
            # Only after polling for the answer, so that no event before it is missed.
            events = self._ledger.events(delivery.task_id, delivery.events)
            delivery.events += len(events)
            for event in events:
                delivery.on_event(event)
        if meta["status"] == "SUCCESS":
            answer: dict[str, Any] = meta["result"]
            # Its worker saw no requester, because the broker had lost our key for a moment: we still wait for the answer.
            return None if answer["reply"]["kind"] == "Cancelled" else answer
        if meta["status"] in ("FAILURE", "REVOKED"):
            lost = type(meta["result"]).__name__ == "WorkerLostError"
            return None if lost else _broken(str(meta["result"])[:500])
        moment = time.monotonic()
        if moment < delivery.next_look_at:
            return _NOTHING_YET
        delivery.next_look_at = moment + ASK_EVERY_SECONDS
        if not self._ledger.keep_asking(delivery.task_id):
            return None
        if self._ledger.worked_on(delivery.task_id):
            delivery.begun = True
        elif delivery.begun:
            # It may have ended between the two polls.
            meta = self._app.backend.get_task_meta(delivery.task_id, cache=False)
            return _NOTHING_YET if meta["status"] != "PENDING" else None
        elif moment > delivery.give_up_at:
            message = (
                f"no worker took the task from the queue {delivery.queue!r} within {moment - delivery.sent_at:.0f} s"
            )
            if not self._ledger.offered(delivery.queue):
                raise WorkersAway(message)  # that no worker is up is not the task's fault: its job waits
            return _broken(message)
        return _NOTHING_YET

    def _leave(self, task_id: str) -> None:
        try:
            self._ledger.forget(task_id)
            self._app.backend.forget(task_id)
        except (RedisError, OperationalError):
            log.warning("broker-silent")  # our key in the ledger expires by itself

    def _answered(self, answer: dict[str, Any]) -> TaskAnswer:
        reply = reply_from_json(dict(answer["reply"]))
        if isinstance(reply, Cancelled):
            return TaskAnswer(reply)
        files: dict[str, bytes] = {}
        try:
            for name, digest in answer["files"].items():
                files[str(name)] = self._files.get(str(digest))
        except FileMissing as error:
            return TaskAnswer(ProtocolBroken(f"a worker's file did not arrive: {error.message}"))
        return TaskAnswer(reply, files)


class _Delivery:
    """What the runner knows about one delivery."""

    def __init__(self, task_id: str, queue: str, seconds: float, on_event: OnEvent | None) -> None:
        self.task_id = task_id
        self.queue = queue
        self.on_event = on_event
        self.events = 0
        self.seconds = seconds
        self.begun = False
        self.begins()

    def begins(self) -> None:
        """The delivery is in the queue: its clocks start."""
        self.sent_at = time.monotonic()
        self.next_look_at = self.sent_at + ASK_EVERY_SECONDS
        self.give_up_at = self.sent_at + self.seconds


_NOTHING_YET: dict[str, Any] = {}


def _broken(message: str) -> dict[str, Any]:
    return {"reply": {"kind": "ProtocolBroken", "message": message}, "files": {}}
