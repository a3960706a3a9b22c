"""Progress of a tuning on stderr: a bar with the phase, or one line per event on a pipe; ``--quiet`` shows nothing."""

import sys
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from warpwright.service.jobs.schemas import EventView

__all__ = ["TuningProgress"]


class TuningProgress:
    """A context manager that shows a job's events; call it with each."""

    def __init__(self, title: str, *, silent: bool = False) -> None:
        self._console = Console(stderr=True, quiet=silent)
        self._bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=self._console,
            disable=silent or not sys.stderr.isatty(),
            transient=True,
        )
        self._task = self._bar.add_task(title, total=None)
        self._title = title

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
            "candidate": self._candidate,
        }.get(event.kind)
        if show is not None:
            show(event.data)

    def note(self, text: str) -> None:
        """Shows what the command is waiting for."""
        self._bar.update(self._task, description=f"{self._title}: {text}")

    def _state(self, data: dict[str, Any]) -> None:
        self.note(str(data.get("state", "")))

    def _variant(self, data: dict[str, Any]) -> None:
        if data.get("failure"):
            self._line(f"variant {data.get('variant')} refused: {data['failure'].get('message')}")

    def _proposed(self, data: dict[str, Any]) -> None:
        self._bar.update(self._task, total=data.get("total"))
        self._line(f"{data.get('total')} candidates to build, {data.get('rejected')} structures proven impossible")

    def _candidate(self, data: dict[str, Any]) -> None:
        done, total = data.get("done"), data.get("total")
        self._bar.update(self._task, completed=done, total=total)
        reason = f": {str(data['message']).splitlines()[0]}" if data.get("message") else ""
        self._line(f"[{done}/{total}] variant {data.get('variant')} {data.get('kind')}: {data.get('outcome')}{reason}")

    def _line(self, text: str) -> None:
        self._console.print(text, style="dim", markup=False, highlight=False)
