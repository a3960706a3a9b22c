"""Bounded pools of threads for slow requests, so that readers and probes never wait behind a solve.

A request that waits for a child (reading IR, solving) takes a place in the pool of its kind. A pool runs ``slots`` requests and
lets ``waiting`` more wait; what comes then is refused with 429 before its body is read. Probes have a pool of their own.
"""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import ceil
from typing import Annotated, ParamSpec, TypeVar

from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from fastapi import Depends, Request
from prometheus_client import Counter, Gauge, Histogram

from warpwright.service.before_body import BeforeBody
from warpwright.service.errors import TooManyRequests
from warpwright.service.settings import Settings

__all__ = ["ProbePool", "SolvePool", "SubmitPool", "WorkPool", "WorkPools"]

P = ParamSpec("P")
ResultT = TypeVar("ResultT")

WAIT_SECONDS = Histogram("warpwright_pool_wait_seconds", "Time that a request waited for its pool.", ["pool"])
REFUSED = Counter("warpwright_pool_refused", "Requests refused because their pool was full.", ["pool"])
REQUESTS = Gauge("warpwright_pool_requests", "Requests that run or wait in a pool.", ["pool", "state"])
MOST_RETRY_SECONDS = 60
PROBES = (2, 16)
"""Probes that run and that wait: they take milliseconds unless the database hangs, and then must not pile up."""
FORGETTING = 0.2
"""Weight of the latest request in the mean duration, which Retry-After is made from."""


class WorkPool:
    """One pool. All methods are called on the event loop, so plain counters are exact."""

    def __init__(self, name: str, slots: int, waiting: int, patience_seconds: float) -> None:
        self.name = name
        self._slots, self._waiting = slots, waiting
        self._patience = patience_seconds
        self._turns = asyncio.Semaphore(slots)
        self._limiter = CapacityLimiter(slots)
        self._inside = self._running = 0
        self._mean_seconds = 1.0
        REFUSED.labels(name)  # a series that begins at zero: an alert on its rate sees the first refusal
        self._show()

    def admit(self) -> None:
        """Refuse a request for which there is no place.

        Raises:
            TooManyRequests: ``pool-full``; Retry-After is about when a place will be free.
        """
        if self._inside >= self._slots + self._waiting:
            raise self._full(f"{self._inside} such requests run or wait already")

    async def run(self, work: Callable[P, ResultT], *args: P.args, **keywords: P.kwargs) -> ResultT:
        """Run ``work`` on a thread of this pool once it is this request's turn.

        Raises:
            TooManyRequests: ``pool-full``; there was no place, or no turn within the patience.
        """
        self.admit()
        with self._counted():
            started = time.monotonic()
            try:
                async with asyncio.timeout(self._patience):
                    await self._turns.acquire()
            except TimeoutError:
                raise self._full(f"no turn within {self._patience:.0f} s") from None
            finally:
                WAIT_SECONDS.labels(self.name).observe(time.monotonic() - started)
            try:
                return await self._in_thread(lambda: work(*args, **keywords))
            finally:
                self._turns.release()

    async def _in_thread(self, work: Callable[[], ResultT]) -> ResultT:
        started = time.monotonic()
        self._running += 1
        self._show()
        try:
            return await run_sync(work, limiter=self._limiter)
        finally:
            self._running -= 1
            self._mean_seconds += FORGETTING * (time.monotonic() - started - self._mean_seconds)

    @contextmanager
    def _counted(self) -> Iterator[None]:
        self._inside += 1
        self._show()
        try:
            yield
        finally:
            self._inside -= 1
            self._show()

    def _show(self) -> None:
        REQUESTS.labels(self.name, "running").set(self._running)
        REQUESTS.labels(self.name, "waiting").set(self._inside - self._running)

    def _full(self, why: str) -> TooManyRequests:
        REFUSED.labels(self.name).inc()
        seconds = ceil(self._mean_seconds * (self._inside + 1 - self._running) / self._slots)
        headers = {"Retry-After": str(max(1, min(seconds, MOST_RETRY_SECONDS)))}
        return TooManyRequests(f"the service is busy with {self.name}: {why}", code="pool-full", headers=headers)


class WorkPools:
    """The pools of one application."""

    def __init__(self, settings: Settings) -> None:
        waiting, patience = settings.max_waiting_requests, settings.max_wait_seconds
        self.solve = WorkPool("solve", settings.solve_slots, waiting, patience)
        self.submit = WorkPool("submit", settings.submit_slots, waiting, patience)
        self.lookup = WorkPool("lookup", settings.submit_slots, waiting, patience)
        self.probe = WorkPool("probe", *PROBES, patience)


class _Admission(BeforeBody):
    """Gives a route its pool, and refuses a request before its body is read if the pool is full."""

    def __init__(self, name: str) -> None:
        self._name = name

    async def __call__(self, request: Request) -> WorkPool:
        pool: WorkPool = getattr(request.app.state.work_pools, self._name)
        pool.admit()
        return pool


SolvePool = Annotated[WorkPool, Depends(_Admission("solve"))]
SubmitPool = Annotated[WorkPool, Depends(_Admission("submit"))]
ProbePool = Annotated[WorkPool, Depends(_Admission("probe"))]
