"""Progress of a tuning on stderr: a bar with what runs now, or one line per event on a pipe; ``--quiet`` shows nothing."""

import sys
import time
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from warpwright.sentences import microseconds, proposed_line
from warpwright.service.jobs.schemas import EventView

__all__ = ["TuningProgress"]

WIDE = 120
"""Columns from which there is room for a bar beside the words."""
SHOWN_ID = 13


class TuningProgress:
    """A context manager that shows a job's events; call it with each."""

    def __init__(self, title: str, *, silent: bool = False) -> None:
        self._console = Console(stderr=True, quiet=silent, soft_wrap=True)
        bar = (BarColumn(),) if self._console.width >= WIDE else ()
        self._bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            *bar,
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=self._console,
            disable=silent or not sys.stderr.isatty(),
            transient=True,
        )
        self._task = self._bar.add_task(title, total=None)
        self._title = title
        self._doing = ""
        self._best: tuple[bool, float] | None = None
        """Whether the best so far was measured, and its nanoseconds."""
        self._began: tuple[float, int] | None = None
        """When the first candidate ended, and how many had."""
        self._left = ""

    def __enter__(self) -> "TuningProgress":
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def __call__(self, event: EventView) -> None:
        """Shows one event; kinds that this version does not know are ignored."""
        show = {
            "state": self._state,
            "variant": self._variant,
            "proposed": self._proposed,
            "step": self._step,
            "candidate": self._candidate,
        }.get(event.kind)
        if show is not None:
            show(event.data)

    def note(self, text: str) -> None:
        """Shows what the command is doing or waiting for, with the best so far and the time left once they are known."""
        self._doing = text
        self._show()

    def _show(self) -> None:
        words = [f"{self._title}: {self._doing}", self._best_words(), self._left]
        self._bar.update(self._task, description=" · ".join(filter(None, words)))

    def _best_words(self) -> str:
        if self._best is None:
            return ""
        measured, nanoseconds = self._best
        return f"best {microseconds(nanoseconds)} µs" + ("" if measured else " forecast")

    def _state(self, data: dict[str, Any]) -> None:
        self._began, self._left = None, ""  # a rate of one phase says nothing about the next
        self.note(str(data.get("state", "")))

    def _variant(self, data: dict[str, Any]) -> None:
        if data.get("failure"):
            self._line(f"variant {data.get('variant')} refused: {data['failure'].get('message')}")

    def _proposed(self, data: dict[str, Any]) -> None:
        self._bar.update(self._task, total=data.get("total"))
        self._line(proposed_line(data))

    def _step(self, data: dict[str, Any]) -> None:
        self.note(f"{data.get('step')} {str(data.get('candidate', ''))[:SHOWN_ID]}")

    def _candidate(self, data: dict[str, Any]) -> None:
        done, total = data.get("done"), data.get("total")
        self._improve(data)
        self._estimate(done, total)
        self._bar.update(self._task, completed=done, total=total)
        self._show()
        reason = f": {str(data['message']).splitlines()[0]}" if data.get("message") else ""
        so_far = f"; {words}" if (words := self._best_words()) else ""
        self._line(
            f"[{done}/{total}] variant {data.get('variant')} {data.get('kind')}: {data.get('outcome')}{reason}{so_far}"
        )

    def _improve(self, data: dict[str, Any]) -> None:
        """A measured time counts before every forecast; only what was built counts at all."""
        measured, forecast = data.get("measured_ns"), data.get("forecast_ns")
        time_ns = measured if measured is not None else forecast
        if data.get("outcome") not in ("measured", "compiled", "solved") or time_ns is None:
            return
        found = (measured is not None, float(time_ns))
        if self._best is None or (not found[0], found[1]) < (not self._best[0], self._best[1]):
            self._best = found

    def _estimate(self, done: object, total: object) -> None:
        """Time left at the rate since the first candidate of this phase."""
        if not isinstance(done, int) or not isinstance(total, int):
            return
        now = time.monotonic()
        if self._began is None:
            self._began = (now, done)
        began, first = self._began
        if done <= first or done >= total:
            self._left = ""
            return
        seconds = (now - began) / (done - first) * (total - done)
        self._left = f"about {seconds:.0f} s left" if seconds < 120 else f"about {seconds / 60:.0f} min left"

    def _line(self, text: str) -> None:
        self._console.print(text, style="dim", markup=False, highlight=False, soft_wrap=True)
