"""Notifies waiting requests that a job changed, without a database connection and without polling inside the process.

Writers run in threads, waiters on the event loop. Changes by other processes are not announced; waiters check
again after ``Settings.poll_seconds``.
"""

import asyncio
import threading
from collections import defaultdict

__all__ = ["Bulletin"]


class Bulletin:
    """One notifier per process; topics are job or batch ids. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[str, set[tuple[asyncio.AbstractEventLoop, asyncio.Event]]] = defaultdict(set)
        self.closing = False
        """Set when the server is stopped: waiting requests are answered with the present state, within
        ``Settings.poll_seconds``.
        """

    def announce(self, topic: str) -> None:
        """Wake everybody who waits for a topic; callable from any thread."""
        with self._lock:
            waiting = list(self._waiting.get(topic, ()))
        for loop, event in waiting:
            if not loop.is_closed():
                loop.call_soon_threadsafe(event.set)

    async def wait(self, topic: str, seconds: float) -> bool:
        """Wait for the next announcement, at most ``seconds``; returns whether there was one."""
        entry = (asyncio.get_running_loop(), asyncio.Event())
        with self._lock:
            self._waiting[topic].add(entry)
        try:
            await asyncio.wait_for(entry[1].wait(), seconds)
        except TimeoutError:
            return False
        finally:
            with self._lock:
                self._waiting[topic].discard(entry)
                if not self._waiting[topic]:
                    del self._waiting[topic]
        return True

    @property
    def waiting(self) -> int:
        """Number of open waits."""
        with self._lock:
            return sum(len(entries) for entries in self._waiting.values())
