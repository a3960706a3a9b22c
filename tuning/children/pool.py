"""Warm children behind slots: waiting for a slot costs no task time, a killed child is replaced at its next use."""

import threading
from collections.abc import Mapping
from types import TracebackType
from typing import Any

from warpwright.tuning.children.limits import Limits
from warpwright.tuning.children.process import Child, ChildGone, OnEvent
from warpwright.tuning.children.reply import Cancelled, ProtocolBroken, Reply

__all__ = ["ChildPool", "run_task"]

WAIT_SECONDS = 0.1
REPLACEMENTS = 3
"""How many children may end between warm-up and work before this is reported as a failure instead of being retried."""


class ChildPool:
    """At most ``size`` children, each running one task at a time. Thread-safe: one thread per running task.

    ``warm_task`` is a registered task whose module a new child imports before its first work (TileLang takes two seconds).
    A child is retired after ``tasks_per_child`` tasks, so that leaks of native libraries stay bounded. ``trace`` is that of tasks
    which come without one: the tasks of a measuring session are all of one request.
    """

    def __init__(
        self,
        size: int = 1,
        *,
        warm_task: str | None = None,
        tasks_per_child: int = 64,
        environment: Mapping[str, str] | None = None,
        trace: str = "",
    ) -> None:
        self.size = size
        self.warm_task = warm_task
        self.tasks_per_child = tasks_per_child
        self.environment = dict(environment or {})
        self.trace = trace
        self._slots = threading.Semaphore(size)
        self._idle: list[Child] = []
        self._busy: set[Child] = set()
        self._lock = threading.Lock()
        self._closed = False

    def run(
        self,
        task: str,
        payload: dict[str, Any],
        limits: Limits,
        *,
        trace: str = "",
        cancel: threading.Event | None = None,
        on_event: OnEvent | None = None,
    ) -> Reply:
        """Runs one task when a slot is free; nothing that the task or its process does raises here."""
        while not self._slots.acquire(timeout=WAIT_SECONDS):
            if cancel is not None and cancel.is_set():
                return Cancelled()
        try:
            if cancel is not None and cancel.is_set():
                return Cancelled()  # a child may be quicker than whoever stops it
            return self._run(task, payload, limits, trace or self.trace, cancel, on_event)
        finally:
            self._slots.release()

    def retire(self) -> None:
        """Ends the idle children: the next task gets a fresh process (after a broken device context, say)."""
        with self._lock:
            children, self._idle = self._idle, []
        for child in children:
            child.close()

    def close(self) -> None:
        """Ends all children, busy ones included: their callers, and later ones, get :class:`Cancelled`."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
            busy = list(self._busy)
        for child in idle:
            child.close()
        for child in busy:
            child.stop()

    def __enter__(self) -> "ChildPool":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _run(
        self,
        task: str,
        payload: dict[str, Any],
        limits: Limits,
        trace: str,
        cancel: threading.Event | None,
        on_event: OnEvent | None,
    ) -> Reply:
        gone = ""
        for _ in range(REPLACEMENTS):
            try:
                child = self._take(cancel)
            except OSError as error:
                return ProtocolBroken(f"no child could be started: {error}")
            if child is None:
                return Cancelled()
            try:
                return child.call(task, payload, limits, trace=trace, cancel=cancel, on_event=on_event)
            except ChildGone as error:
                gone = str(error)
            except BaseException:
                child.close()
                raise
            finally:
                self._put_back(child)
        return ProtocolBroken(f"{REPLACEMENTS} children ended before the work began; the last: {gone}")

    def _take(self, cancel: threading.Event | None) -> Child | None:
        """An idle or a new child, marked busy; None if the pool was closed or the caller gave up meanwhile."""
        with self._lock:
            while self._idle:
                child = self._idle.pop()
                if child.alive():
                    self._busy.add(child)
                    return child
                child.close()
        fresh = self._spawn()
        if fresh is None or self.warm_task is None:
            return fresh
        try:
            fresh.call(self.warm_task, {}, Limits(), cancel=cancel, warm=True)
        except BaseException as error:
            self._put_back(fresh)
            if not isinstance(error, ChildGone):
                raise
        if cancel is not None and cancel.is_set():
            self._put_back(fresh)
            return None
        if fresh.alive():
            return fresh
        # The warm-up failed: a bare child shows the same failure as the reply of the real task.
        self._put_back(fresh)
        return self._spawn()

    def _spawn(self) -> Child | None:
        """A new child, marked busy; None if the pool was closed while it was spawned, which leaves no child behind."""
        child = Child(self.environment)
        with self._lock:
            if not self._closed:
                self._busy.add(child)
                return child
        child.close()
        return None

    def _put_back(self, child: Child) -> None:
        with self._lock:
            self._busy.discard(child)
            keep = child.alive() and not self._closed and child.tasks_done < self.tasks_per_child
            if keep:
                self._idle.append(child)
        if not keep:
            child.close()


def run_task(
    task: str,
    payload: dict[str, Any],
    limits: Limits,
    *,
    pool: ChildPool | None = None,
    trace: str = "",
    cancel: threading.Event | None = None,
    on_event: OnEvent | None = None,
    environment: Mapping[str, str] | None = None,
) -> Reply:
    """Runs one task in a child of its own, or in a warm child of ``pool``, and returns its reply.

    ``cancel`` may be set from another thread; ``on_event`` receives what the task emits while it runs.
    """
    if pool is not None:
        return pool.run(task, payload, limits, trace=trace, cancel=cancel, on_event=on_event)
    with ChildPool(1, environment=environment) as single:
        return single.run(task, payload, limits, trace=trace, cancel=cancel, on_event=on_event)
