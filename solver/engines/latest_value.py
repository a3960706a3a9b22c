"""Reports the latest of many values in a thread of its own, so that their producer never waits for the report."""

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Generic, Self, TypeVar

__all__ = ["Latest"]

Value = TypeVar("Value")


class Latest(Generic[Value]):
    """While entered, calls ``report`` with offered values, one at a time; a value that a newer one replaces is left out.

    The last offered value is always reported before the context exits. An error of ``report`` is raised on exit.
    """

    def __init__(self, report: Callable[[Value], None]) -> None:
        self._report = report
        self._news = threading.Condition()
        self._waiting: list[Value] = []
        self._over = False
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="latest", daemon=True)

    def offer(self, value: Value) -> None:
        """Give the latest value; returns at once."""
        with self._news:
            self._waiting[:] = [value]
            self._news.notify()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._news:
            self._over = True
            self._news.notify()
        self._thread.join()
        if self._error is not None and error is None:
            raise self._error

    def _run(self) -> None:
        while True:
            with self._news:
                self._news.wait_for(lambda: self._over or self._waiting)
                if not self._waiting:
                    return
                value = self._waiting.pop()
            try:
                self._report(value)
            except Exception as error:  # noqa: BLE001  # raised again in the thread that asked for the reports
                self._error = error
                return
