"""A source as ``@tuned`` asks it: with a time limit, without exceptions, and not again for a while after a failure."""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from warpwright.jit.sources import KnownChoice, Source
from warpwright.solver.domain import HardwareProfile

__all__ = ["LookupPlace", "Silence"]

T = TypeVar("T")

log = logging.getLogger("warpwright.tuned")

PATIENCE_SECONDS = 10.0
"""Time limit of one question, connecting and a slow stream of bytes included: a kernel's first call waits for it."""
SILENCE_SECONDS = 60.0
"""A model has many kernels: a server that hangs costs the time limit once, not once per kernel."""


class Silence:
    """Which places failed a short time ago, by name. Shared by all kernels of the process."""

    def __init__(self, seconds: float = SILENCE_SECONDS, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.seconds = seconds
        self._clock = clock
        self._until: dict[str, float] = {}

    def begin(self, name: str) -> None:
        """Records that the place with this name failed just now."""
        self._until[name] = self._clock() + self.seconds

    def holds(self, name: str) -> bool:
        """Whether it failed less than ``seconds`` ago."""
        return self._clock() < self._until.get(name, 0.0)


SHARED = Silence()


@dataclass(frozen=True, slots=True)
class LookupPlace:
    """One place to look. ``name`` is shown to people: ``server http://…``, ``lock file …``, ``the results of this machine``."""

    source: Source
    name: str
    patience_seconds: float = PATIENCE_SECONDS
    silence: Silence = SHARED

    def find(self, kernel: str, variants: Sequence[str], profile: HardwareProfile) -> KnownChoice | None:
        """What the place knows; None, with a log line, if it cannot be asked."""
        if self.silence.holds(self.name):
            log.info("%s: %s did not answer a moment ago and is not asked", kernel, self.name)
            return None
        try:
            return _within(self.patience_seconds, lambda: self.source.find(variants, profile))
        except Exception as error:  # noqa: BLE001 - a place that does not answer must not stop the user's program
            self.silence.begin(self.name)
            again = f", and it will be asked again in {self.silence.seconds:g} s" if self.silence.seconds else ""
            words = "%s: no answer from %s (%s); if no other place knows a schedule, the compiler's default runs%s"
            log.warning(words, kernel, self.name, _first_line(error), again)
            return None

    def improve(self, kernel: str, variants: Sequence[str], profile: HardwareProfile) -> None:
        """Tunes, however long that takes; a failure is a log line."""
        if self.silence.holds(self.name):
            return
        try:
            self.source.improve(kernel, variants, profile)
        except Exception as error:  # noqa: BLE001 - as above
            log.warning(
                "%s: tuning by %s failed (%s); the compiler's default runs", kernel, self.name, _first_line(error)
            )


def _within(seconds: float, ask: Callable[[], T]) -> T:
    """The answer, or TimeoutError. The question continues in its own thread, which ends with the process at the latest."""
    answers: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            answers.append(ask())
        except BaseException as error:  # noqa: BLE001 - handed to the caller
            errors.append(error)

    thread = threading.Thread(target=run, name="warpwright-lookup", daemon=True)
    thread.start()
    thread.join(seconds)
    if errors:
        raise errors[0]
    if not answers:
        raise TimeoutError(f"no answer within {seconds:g} s")
    return answers[0]


def _first_line(error: Exception) -> str:
    text = str(error).strip()
    return text.splitlines()[0][:300] if text else type(error).__name__
