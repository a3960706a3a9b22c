"""``warpwright batch``: many kernels at once, with a display that survives a lost connection and can be resumed."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from warpwright.batch import batch_text
from warpwright.cli.connect import check_tuning, client_of
from warpwright.cli.exit_codes import ExitCode
from warpwright.cli.inputs import profile_of, writable_file
from warpwright.cli.options import BatchOptions
from warpwright.cli.tune import effort_of, stoppable
from warpwright.client import Client
from warpwright.errors import ServerUnreachable
from warpwright.kernel_file import parse_setting
from warpwright.service.batches.schemas import BatchView
from warpwright.tuning.toolchain import Stop

__all__ = ["run_batch", "watch"]

POLL_SECONDS = 1.0
AWAY_SECONDS = 5.0


def run_batch(options: BatchOptions) -> ExitCode:
    """Submits a batch file, or resumes a batch by its id; shows progress; writes the results.

    Raises:
        DocumentError, KernelFileError: the file cannot be read.
        ServerError: the server refused the batch.
    """
    if options.out is not None:
        writable_file(options.out)
    if not _names_a_batch(options):
        check_tuning(options.server)
    with client_of(options.server, options.token) as client, stoppable() as stop:
        batch = _submitted(client, options)
        if not options.json:
            sys.stderr.write(f"batch {batch.id}: {batch.lines} lines, {batch.jobs} jobs\n")
        if not options.detach:
            batch = watch(client, batch, stop, silent=options.json)
        if options.out is not None:
            shape = "csv" if options.out.suffix == ".csv" else "jsonl"
            options.out.write_bytes(client.batch_results(batch.id, shape))
    if options.json:
        sys.stdout.write(batch.model_dump_json() + "\n")
    else:
        counts = ", ".join(f"{count} {state}" for state, count in sorted(batch.counts.items()))
        sys.stdout.write(f"batch {batch.id}: {counts}" + (f"; wrote {options.out}\n" if options.out else "\n"))
        if not batch.ended:
            sys.stdout.write(f"it continues; 'warpwright batch {batch.id}' shows it again\n")
    if not batch.ended:
        return ExitCode.OK if options.detach else ExitCode.PARTIAL
    failed = batch.counts.get("failed", 0) + batch.counts.get("refused", 0)
    return ExitCode.NOTHING_USABLE if failed == batch.lines and batch.lines else ExitCode.OK


def _submitted(client: Client, options: BatchOptions) -> BatchView:
    if _names_a_batch(options):
        return client.batch(options.file)
    path = Path(options.file)
    profile = profile_of(options.profile) if options.profile is not None else None
    effort = effort_of(options.effort).value if options.effort is not None else None
    text = batch_text(
        path, profile, effort=effort, function=options.function, settings=dict(map(parse_setting, options.settings)),
        tell=_not_read,
    )  # fmt: skip
    return client.submit_batch(text, name=options.name or path.stem)


def _not_read(line: str) -> None:
    sys.stderr.write(f"not read: {line}\n")


def _names_a_batch(options: BatchOptions) -> bool:
    return options.file.startswith("batch_") and not Path(options.file).exists()


def watch(client: Client, batch: BatchView, stop: Stop, *, silent: bool = False) -> BatchView:
    """Waits for the end of a batch, also while the server is unreachable; Ctrl-C leaves the batch running."""
    with _bar(batch, silent) as show:
        while not batch.ended and not stop.is_raised():
            try:
                batch = client.batch(batch.id)
            except ServerUnreachable as error:
                show(batch, f"server unreachable, trying again ({error.message})")
                time.sleep(AWAY_SECONDS)
                continue
            left = f", about {batch.seconds_left:.0f} s left" if batch.seconds_left is not None else ""
            show(batch, f"{batch.done} of {batch.total or '?'} candidates{left}")
            if not batch.ended:
                time.sleep(POLL_SECONDS)
    return batch


class _Bar:
    """A progress bar of the lines that have ended."""

    def __init__(self, progress: Progress, batch: BatchView) -> None:
        self._progress = progress
        self._task = progress.add_task(batch.id, total=batch.lines)

    def __call__(self, batch: BatchView, text: str) -> None:
        ended = sum(batch.counts.get(state, 0) for state in ("done", "failed", "cancelled", "refused"))
        self._progress.update(self._task, completed=ended, description=text)


@contextmanager
def _bar(batch: BatchView, silent: bool) -> Iterator[_Bar]:
    console = Console(stderr=True, quiet=silent)
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    hidden = silent or not sys.stderr.isatty()
    with Progress(*columns, console=console, disable=hidden, transient=True) as progress:
        yield _Bar(progress, batch)
