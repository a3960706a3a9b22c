"""Progress of a tuning on stderr: one bar, the phase, what is being built. On a pipe one line a candidate; silent on demand."""

import sys
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from service.tuning import CandidateEnded, Event, PhaseEntered, Proposed, StepStarted, VariantRead

__all__ = ["TuningProgress"]


class TuningProgress:
    """A context manager that shows events; call it with each. On a pipe it prints one line per ended candidate instead."""

    def __init__(self, title: str, *, silent: bool = False) -> None:
        self._console = Console(stderr=True, quiet=silent)
        self._bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
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

    def __call__(self, event: Event) -> None:
        """Shows one event."""
        match event:
            case PhaseEntered(phase=phase):
                self._bar.update(self._task, description=f"{self._title}: {phase.value}")
            case VariantRead(report=report):
                if report.failure:
                    self._line(f"variant {report.variant} refused: {report.failure.message}")
            case Proposed(total=total, rejected=rejected):
                self._bar.update(self._task, total=total)
                self._line(f"{total} candidates to build, {rejected} structures proven impossible")
            case StepStarted():
                pass
            case CandidateEnded(candidate=candidate, done=done, total=total):
                self._bar.update(self._task, completed=done, total=total)
                seconds = sum(candidate.seconds.values())
                self._line(
                    f"[{done}/{total}] {candidate.kind.value} {candidate.id[:12]}: {candidate.outcome.value}, {seconds:.1f} s"
                )

    def note(self, text: str) -> None:
        """Shows what is being waited for."""
        self._bar.update(self._task, description=f"{self._title}: {text}")

    def _line(self, text: str) -> None:
        self._console.print(text, style="dim", markup=False, highlight=False)
