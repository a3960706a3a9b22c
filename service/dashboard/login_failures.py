"""Wrong tokens on the login page, by address: guessing is slowed down, and shows in the log."""

import threading
import time
from collections import deque

import structlog

from warpwright.service.errors import TooManyRequests

__all__ = ["LoginFailures"]

WINDOW_SECONDS = 60.0
MOST_ADDRESSES = 10_000
log = structlog.get_logger(__name__)


class LoginFailures:
    """Counts failures of the last minute in this process."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._moments: dict[str, deque[float]] = {}

    def check(self, address: str) -> None:
        """Refuses an address that has failed too often.

        Raises:
            TooManyRequests: ``too-many-logins``, with Retry-After.
        """
        with self._lock:
            recent = self._recent(address)
            if len(recent) < self._limit:
                return
            wait = max(1, round(recent[0] + WINDOW_SECONDS - time.monotonic()))
        message = f"{self._limit} wrong tokens within a minute; try again in {wait} s"
        raise TooManyRequests(message, code="too-many-logins", headers={"Retry-After": str(wait)})

    def failed(self, address: str) -> None:
        """Remember a wrong token."""
        log.warning("login-failed", address=address)
        with self._lock:
            if len(self._moments) >= MOST_ADDRESSES:
                self._moments.clear()
            self._recent(address).append(time.monotonic())

    def _recent(self, address: str) -> deque[float]:
        moments = self._moments.setdefault(address, deque())
        while moments and moments[0] < time.monotonic() - WINDOW_SECONDS:
            moments.popleft()
        return moments
