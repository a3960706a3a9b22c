"""The child's side: reads tasks from one pipe, answers on another, one at a time, until the parent closes the pipe.

Run as ``python -m warpwright.tuning.children.main REQUEST_FD REPLY_FD LIFELINE_FD``; everything a task prints goes to
stdout and stderr.
"""

import contextlib
import ctypes
import fcntl
import importlib
import logging
import os
import select
import shutil
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable
from math import isfinite
from typing import Any

from warpwright.lowering import emit
from warpwright.solver.domain.errors import WarpwrightError
from warpwright.solver.domain.extras import missing_of
from warpwright.tuning.children.frames import encode, read_frame, write_frame
from warpwright.tuning.children.registry import TASKS
from warpwright.tuning.children.trace import trace_id_of

__all__ = ["main"]

Task = Callable[[dict[str, Any]], dict[str, Any]]

PR_SET_CHILD_SUBREAPER = 36
OURS = ("warpwright",)
"""Packages whose log lines are handed to the parent; what libraries print stays in the child's output."""
LINE_CHARACTERS = 4000


def main(request_fd: int, reply_fd: int, lifeline_fd: int) -> int:
    """Serves tasks until the request pipe closes."""
    _adopt_orphans()
    _die_with_parent(lifeline_fd)
    _hand_lines_over(reply_fd)
    while True:
        request = read_frame(request_fd)
        if request is None:
            return 0
        try:
            task = resolve(request["task"])
        except Exception as error:  # noqa: BLE001 - an import error of a task's module is an answer, not a crash
            write_frame(reply_fd, _failure(error))
            continue
        write_frame(reply_fd, {"kind": "started"})
        if not request.get("warm", False):
            emit.connect(lambda frame: write_frame(reply_fd, frame))
            write_frame(reply_fd, _run(task, request))
            emit.connect(None)
        else:
            write_frame(reply_fd, {"kind": "returned", "value": {}})
        sys.stdout.flush()
        sys.stderr.flush()


_PLAIN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
"""Attributes that every log record has; the rest are a line's own fields."""


class _Lines(logging.Handler):
    """Sends log lines of tasks to the parent, which knows how its process logs, with the trace of the request."""

    def __init__(self, reply_fd: int) -> None:
        super().__init__(logging.INFO)
        self._reply_fd = reply_fd

    def emit(self, record: logging.LogRecord) -> None:
        """Send one record; a line that cannot be written does not fail the task."""
        line = {
            "level": record.levelno,
            "logger": record.name,
            "message": record.getMessage()[:LINE_CHARACTERS],
            "fields": {name: value for name, value in vars(record).items() if name not in _PLAIN and _simple(value)},
        }
        with contextlib.suppress(OSError):
            write_frame(
                self._reply_fd, {"kind": "log", **line, "trace": trace_id_of(os.environ.get("WARPWRIGHT_TRACE", ""))}
            )


def _simple(value: object) -> bool:
    """Whether a field may travel in a frame."""
    if isinstance(value, float):
        return isfinite(value)
    return value is None or isinstance(value, int) or (isinstance(value, str) and len(value) <= LINE_CHARACTERS)


def _hand_lines_over(reply_fd: int) -> None:
    handler = _Lines(reply_fd)
    for name in OURS:
        logging.getLogger(name).addHandler(handler)
        logging.getLogger(name).setLevel(logging.INFO)


def resolve(name: str) -> Task:
    """The function of a registered task; WarpwrightError ``unknown-task`` for any other name."""
    if name not in TASKS:
        raise WarpwrightError(f"there is no task {name!r}", code="unknown-task", place=name)
    module, function = TASKS[name].split(":")
    task: Task = getattr(importlib.import_module(module), function)
    return task


def _run(task: Task, request: dict[str, Any]) -> dict[str, Any]:
    scratch = tempfile.mkdtemp(prefix="task-", dir=os.environ.get("WARPWRIGHT_CHILD_SCRATCH"))
    before = os.environ.get("TMPDIR")
    os.environ["TMPDIR"] = tempfile.tempdir = scratch
    trace = str(request.get("trace") or "")
    os.environ["WARPWRIGHT_TRACE"] = trace
    # OpenTelemetry's carrier for processes; only a recorded trace comes in this form.
    os.environ["TRACEPARENT"] = trace if trace_id_of(trace) != trace else ""
    try:
        value = task(request["payload"])
        message = {"kind": "returned", "value": value}
        encode(message)
    except Exception as error:  # noqa: BLE001 - the parent decides what an unknown error means; the loop goes on
        return _failure(error)
    finally:
        tempfile.tempdir = None
        os.environ["TMPDIR"] = before or tempfile.gettempdir()
        shutil.rmtree(scratch, ignore_errors=True)
    return message


def _failure(error: Exception) -> dict[str, Any]:
    if isinstance(error, ModuleNotFoundError):
        error = missing_of(error.name, "this step") or error
    if isinstance(error, WarpwrightError):
        return {
            "kind": "refused",
            "code": error.code,
            "message": error.message,
            "place": error.place,
            "error": type(error).__name__,
        }
    if isinstance(error, MemoryError):
        return {"kind": "memory"}
    text = "".join(traceback.format_exception(error))
    return {"kind": "raised", "type": type(error).__name__, "message": str(error)[:20_000], "trace": text[-20_000:]}


def _adopt_orphans() -> None:
    """Descendants whose own parent ends become children of this process, so that the supervisor's scan of the tree finds them."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _die_with_parent(fd: int) -> None:
    """The kernel signals this whole process group when the parent's end of the lifeline closes.

    Not ``PR_SET_PDEATHSIG``: that fires when the parent's *thread* ends, and pools spawn from threads. SIGIO's default action
    ends a process even while native code holds the interpreter lock.
    """
    signal.signal(signal.SIGIO, signal.SIG_DFL)
    fcntl.fcntl(fd, fcntl.F_SETOWN, -os.getpgrp())
    fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL) | os.O_ASYNC)
    # A parent that ended during our start could not signal us; its request may still be in the pipe.
    poll = select.poll()
    poll.register(fd, 0)
    if poll.poll(0):
        sys.exit(0)


if __name__ == "__main__":
    sys.exit(main(*(int(argument) for argument in sys.argv[1:4])))
