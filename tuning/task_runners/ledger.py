"""Who asks for a task and who works on it: keys in Redis that vanish when their writer dies.

A task runs only while somebody asks for it, so that tasks of a killed service in the queues cost nothing; and a
task whose worker died is noticed within seconds, without waiting for Redis to deliver it again. Neither side needs a clock
that agrees with the other's.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["ASKED_SECONDS", "SILENCE_SECONDS", "Ledger"]

SILENCE_SECONDS = 5
"""A worker without a heartbeat for this long counts as dead."""

ASKED_SECONDS = 15
"""A task that nobody has asked for in this time is dropped."""

OFFER_SECONDS = 15
KEPT_SECONDS = 3600
"""How long events of a task, and counters of a worker, outlive their last change."""


class Ledger:
    """The keys of one broker. ``client`` is a redis-py client; thread-safe as that is."""

    def __init__(self, client: Any, silence_seconds: int = SILENCE_SECONDS) -> None:
        self._redis = client
        self._silence = silence_seconds

    def ping(self) -> None:
        """Raise unless the broker answers."""
        self._redis.ping()

    # The requester's side.

    def ask(self, task: str) -> None:
        """Ask for a task's answer from now on."""
        self._redis.set(_asked(task), 1, ex=ASKED_SECONDS)

    def keep_asking(self, task: str) -> bool:
        """Keep asking; False if the broker lost the request, and the task with it."""
        return bool(self._redis.set(_asked(task), 1, ex=ASKED_SECONDS, xx=True))

    def forget(self, task: str) -> None:
        """Stop asking: whoever works on it stops."""
        self._redis.delete(_asked(task), _events(task))

    def worked_on(self, task: str) -> bool:
        """Whether some worker has a recent heartbeat for this task."""
        return bool(self._redis.exists(_working(task)))

    def events(self, task: str, start: int) -> list[dict[str, Any]]:
        """The task's events since event number ``start``."""
        return [json.loads(text) for text in self._redis.lrange(_events(task), start, -1)]

    def offered(self, capability: str) -> bool:
        """Whether a live worker takes tasks of this capability."""
        return bool(self._redis.exists(_offer(capability)))

    def compilers(self, capability: str) -> str:
        """The compilers of the workers of this capability, also of those that are down; empty when none was ever up."""
        found = self._redis.get(_compilers(capability))
        return found.decode() if found else ""

    # The worker's side.

    def take(self, task: str, worker: str) -> bool:
        """Begin a task; False if nobody asks for it any more, or another worker has it."""
        if not self._redis.exists(_asked(task)):
            return False
        return bool(self._redis.set(_working(task), worker, ex=self._silence, nx=True))

    def beat(self, task: str, worker: str) -> bool:
        """Send a heartbeat for the task; False if it is useless: nobody asks any more, or this worker counts as dead."""
        holder, asked = self._redis.pipeline(transaction=False).get(_working(task)).exists(_asked(task)).execute()
        if not asked or holder is None or holder.decode() != worker:
            return False
        return bool(self._redis.expire(_working(task), self._silence))

    def tell(self, task: str, event: dict[str, Any]) -> None:
        """Pass an event of a running task on."""
        self._redis.pipeline().rpush(_events(task), json.dumps(event)).expire(_events(task), KEPT_SECONDS).execute()

    def offer(self, capabilities: Iterable[str], compilers: Mapping[str, str] | None = None) -> None:
        """Announce that this worker takes tasks of these capabilities, and with which compilers; to be repeated."""
        pipeline = self._redis.pipeline(transaction=False)
        for capability in capabilities:
            pipeline.set(_offer(capability), 1, ex=OFFER_SECONDS)
            if compilers and capability in compilers:
                pipeline.set(_compilers(capability), compilers[capability])
        pipeline.execute()

    def withdraw(self, capabilities: Iterable[str]) -> None:
        """Withdraw these capabilities; other workers that offer them announce it again within a heartbeat."""
        for capability in capabilities:
            self._redis.delete(_offer(capability))

    def note(self, worker: str, *, error: dict[str, Any] | None = None, healthy: bool | None = None) -> None:
        """Count a task of this worker, with its error if the worker caused it; record the health of its device."""
        pipeline = self._redis.pipeline().hincrby(_worker(worker), "done", 1)
        if error is not None:
            pipeline.hset(_worker(worker), "error", json.dumps(error))
        if healthy is not None:
            pipeline.hset(_worker(worker), "healthy", int(healthy))
        pipeline.expire(_worker(worker), KEPT_SECONDS).execute()

    def set_healthy(self, worker: str, healthy: bool) -> None:
        """Record the health of a worker's device."""
        self._redis.hset(_worker(worker), "healthy", int(healthy))

    def noted(self, worker: str) -> tuple[int, dict[str, Any] | None, bool]:
        """Tasks done, last error, health."""
        found = self._redis.hgetall(_worker(worker))
        error = found.get(b"error")
        return int(found.get(b"done", 0)), json.loads(error) if error else None, found.get(b"healthy", b"1") == b"1"


def _asked(task: str) -> str:
    return f"warpwright-asked:{task}"


def _working(task: str) -> str:
    return f"warpwright-working:{task}"


def _events(task: str) -> str:
    return f"warpwright-events:{task}"


def _offer(capability: str) -> str:
    return f"warpwright-offer:{capability}"


def _compilers(capability: str) -> str:
    return f"warpwright-compilers:{capability}"


def _worker(name: str) -> str:
    return f"warpwright-worker:{name}"
