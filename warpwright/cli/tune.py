"""``warpwright tune``: reads the kernel here, tunes here or on a server, prints the result and writes the requested files."""

import json
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from warpwright.cli.connect import check_tuning, client_of
from warpwright.cli.exit_codes import ExitCode
from warpwright.cli.inputs import build_options_of, kernel_of, pins_of, profile_of, writable_folder
from warpwright.cli.options import TuneOptions
from warpwright.cli.progress import TuningProgress
from warpwright.cli.render import print_result
from warpwright.output import write_result
from warpwright.remote import submission_of, tune_there
from warpwright.result import Result
from warpwright.solver.domain.errors import WarpwrightError
from warpwright.tuning.partial_reasons import INTERRUPTED
from warpwright.tuning.request import Effort
from warpwright.tuning.toolchain import Stop

LOCAL_POLL_SECONDS = 0.3
REMOTE_POLL_SECONDS = 1.0

__all__ = ["exit_code_of_result", "run_tune"]


def run_tune(options: TuneOptions) -> ExitCode:
    """Tunes, prints the result and writes ``--out``; the exit code says how it ended."""
    check_tuning(options.server)
    profile = profile_of(options.profile)
    pins = pins_of(options.pins, profile)
    build_options = build_options_of(options.build_options, profile)
    effort = effort_of(options.effort)
    if options.out is not None:
        writable_folder(options.out)
    with TuningProgress(options.file.name, silent=options.json) as progress:
        progress.note("reading the kernel")
        kernel = kernel_of(options.file, options.function, options.settings)
        submission = submission_of(
            kernel, profile, effort=effort.value, candidates=options.candidates, seconds=options.budget,
            engine=options.engine, pins=pins, build_options=build_options, measure=options.measure, fresh=options.fresh,
        )  # fmt: skip
        # Before there is a job a Ctrl-C ends the program at once; from here on there is a partial answer to wait for.
        with client_of(options.server, options.token) as client, stoppable() as stop:
            poll = REMOTE_POLL_SECONDS if options.server else LOCAL_POLL_SECONDS
            result = tune_there(
                client, submission, stop=stop, events=progress, poll_seconds=poll, all_products=options.out is not None
            )
            progress.note("writing")
            written = write_result(result, client, options.out) if options.out is not None else ()
    if options.json:
        sys.stdout.write(json.dumps(result.to_json()) + "\n")
    else:
        print_result(result, written)
    return exit_code_of_result(result)


def effort_of(name: str) -> Effort:
    """The named effort.

    Raises:
        WarpwrightError: ``effort-unknown``.
    """
    try:
        return Effort(name)
    except ValueError:
        names = ", ".join(entry.value for entry in Effort)
        message = f"there is no effort {name!r}; choose one of {names}"
        raise WarpwrightError(message, code="effort-unknown", place="--effort") from None


def exit_code_of_result(result: Result) -> ExitCode:
    """The exit code of a tuning that gave an answer."""
    if result.partial and result.best is None:
        return ExitCode.INTERRUPTED if result.stopped_by in INTERRUPTED else ExitCode.UNKNOWN
    if result.partial:
        return ExitCode.PARTIAL
    match result.ending:
        case "infeasible":
            return ExitCode.INFEASIBLE
        case "not_applicable":
            return ExitCode.NOT_APPLICABLE
        case "unknown":
            return ExitCode.UNKNOWN
        case _:
            return ExitCode.OK if result.best is not None or _unranked(result) else ExitCode.NOTHING_USABLE


def _unranked(result: Result) -> bool:
    """Whether candidates are usable but nothing says which one is better: none of them has a cost."""
    usable = [each for each in result.candidates if each.outcome.usable and not each.not_honoured]
    return bool(usable) and not any(each.has_cost for each in usable)


@contextmanager
def stoppable() -> Iterator[Stop]:
    """A flag that the first Ctrl-C sets, so that there is a partial answer; the second one ends the program."""
    stop = Stop()

    def first(signum: int, frame: FrameType | None) -> None:
        stop.raise_flag("interrupted")
        signal.signal(signal.SIGINT, signal.default_int_handler)

    try:
        before = signal.signal(signal.SIGINT, first)
    except ValueError:  # not the main thread: no signals arrive here
        yield stop
        return
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)
