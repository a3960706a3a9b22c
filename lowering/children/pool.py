"""Warm children behind slots: waiting for a slot costs no task time, a killed child is replaced at its next use."""

import threading
from collections.abc import Mapping
from types import TracebackType
from typing import Any

from lowering.children.limits import Limits
from lowering.children.process import Child, ChildGone, OnEvent
from lowering.children.reply import Cancelled, Reply

__all__ = ["ChildPool", "run_task"]

WAIT_SECONDS = 0.1


class ChildPool:
    """At most ``size`` children, each running one task at a time. Thread-safe: one thread a running task.

    ``warm_task`` is a registered task whose module a new child imports before its first work (TileLang takes two seconds).
    A child is retired after ``tasks_per_child`` tasks, so that leaks of native libraries stay bounded.
    """

    def __init__(
        self,
        size: int = 1,
        *,
        warm_task: str | None = None,
        tasks_per_child: int = 64,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.size = size
        self.warm_task = warm_task
        self.tasks_per_child = tasks_per_child
        self.environment = dict(environment or {})
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
        """Runs one task when a slot is free; never raises for anything that the task or its process does."""
        while not self._slots.acquire(timeout=WAIT_SECONDS):
            if cancel is not None and cancel.is_set():
                return Cancelled()
        try:
            return self._run(task, payload, limits, trace, cancel, on_event)
        finally:
            self._slots.release()

    def retire(self) -> None:
        """Ends the idle children: the next task gets a fresh process (after a broken device context, say)."""
        with self._lock:
            children, self._idle = self._idle, []
        for child in children:
            child.close()

    def close(self) -> None:
        """Ends all children, busy ones included."""
        with self._lock:
            self._closed = True
            children, self._idle = [*self._idle, *self._busy], []
        for child in children:
            child.close()

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
        while True:
            child = self._take()
            try:
                return child.call(task, payload, limits, trace=trace, cancel=cancel, on_event=on_event)
            except ChildGone:
                continue
            except BaseException:
                child.close()
                raise
            finally:
                self._put_back(child)

    def _take(self) -> Child:
        with self._lock:
            while self._idle:
                child = self._idle.pop()
                if child.alive():
                    self._busy.add(child)
                    return child
                child.close()
        child = Child(self.environment)
        with self._lock:
            self._busy.add(child)
        if self.warm_task is not None:
            child.call(self.warm_task, {}, Limits(), warm=True)
        return child if child.alive() else self._replace(child)

    def _replace(self, child: Child) -> Child:
        """The warm-up failed: a bare child shows the same failure as the reply of the real task."""
        with self._lock:
            self._busy.discard(child)
        fresh = Child(self.environment)
        with self._lock:
            self._busy.add(fresh)
        return fresh

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
