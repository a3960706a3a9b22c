"""The parent's side of one child: spawn, send a task, watch its limits, kill everything that came from it."""

import contextlib
import logging
import os
import selectors
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from warpwright.tuning.children import machine, tree
from warpwright.tuning.children.environment import inherited
from warpwright.tuning.children.frames import FrameError, FrameReader, encode
from warpwright.tuning.children.limits import Limits
from warpwright.tuning.children.reply import (
    Cancelled,
    Crashed,
    OutOfMemory,
    OutputExceeded,
    ProtocolBroken,
    Raised,
    Refused,
    Reply,
    Returned,
    TimedOut,
)
from warpwright.tuning.children.scratch import Scratch
from warpwright.tuning.children.trace import trace_id_of

__all__ = ["Child", "ChildGone"]

log = logging.getLogger(__name__)

POLL_SECONDS = 0.05
TREE_POLL_SECONDS = 0.2
TAIL_BYTES = 16 << 10
REAP_SECONDS = 2.0
"""How long to wait for a killed child: one that hangs inside a driver cannot be killed and must not block its caller too."""

OnEvent = Callable[[dict[str, Any]], None]


class ChildGone(Exception):
    """The warm child ended while idle; no work was started, so the task may be given to another child."""


class Child:
    """One warm process that runs tasks one after another. Not thread-safe: one caller at a time; :meth:`stop` is for others.

    Raises:
        OSError: a process, pipe or folder could not be created; nothing is left behind.
    """

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self.marker = uuid.uuid4().hex
        self._scratch = Scratch()
        self.scratch = self._scratch.path
        self.tasks_done = 0
        opened: list[int] = []
        try:
            for _ in range(3):
                opened += os.pipe()
            request_read, self._request, self._reply, reply_write, lifeline_read, self._lifeline = opened
            handed_over = (request_read, reply_write, lifeline_read)
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "warpwright.tuning.children.main", *map(str, handed_over)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                pass_fds=handed_over,
                start_new_session=True,
                env=self._environment(environment or {}),
            )
        except BaseException:
            for fd in opened:
                os.close(fd)
            self._scratch.remove()
            raise
        for fd in handed_over:
            os.close(fd)
        assert self._process.stdout is not None
        self._output = self._process.stdout.fileno()
        for fd in (self._reply, self._output):
            os.set_blocking(fd, False)
        self._tail = bytearray()
        self.printed = 0
        self._closed = False
        self._stopped = False

    @property
    def pid(self) -> int:
        """Process id, and id of the process group."""
        return self._process.pid

    def alive(self) -> bool:
        """Whether the child can take another task."""
        return not self._closed and self._process.poll() is None

    def call(
        self,
        task: str,
        payload: dict[str, Any],
        limits: Limits,
        *,
        trace: str = "",
        cancel: threading.Event | None = None,
        on_event: OnEvent | None = None,
        warm: bool = False,
    ) -> Reply:
        """Runs one task to its reply. Unless the task itself answered, the child is gone afterwards.

        Raises:
            ChildGone: the child had ended before the task began.
        """
        self._drain()  # output of the task before, printed after its answer, does not belong to this one
        self._tail.clear()
        self.printed = 0
        message = {"task": task, "payload": payload, "trace": trace, "warm": warm}
        run = _Run(limits, FrameReader(limits.output_bytes), cancel, on_event)
        reply = self._send(encode(message), run) or self._watch(run)
        if not warm:
            told = {"task": task, "child": self.pid, "seconds": round(run.seconds(), 4), "reply": type(reply).__name__}
            log.info("task-ended", extra={**told, "trace": trace_id_of(trace)} if trace else told)
        if isinstance(reply, Returned | Refused | Raised):
            self.tasks_done += 1
            if tree.kill_descendants(self.pid, self.marker):
                return reply
        self.close()
        return reply

    def stop(self) -> None:
        """Ends the processes of a child at work, from any thread: its caller gets :class:`Cancelled`, and closes it.

        The descriptors stay open until then: a number that is closed here may be another child's a moment later.
        """
        self._stopped = True
        tree.kill_tree(self.pid, self.marker)

    def close(self) -> None:
        """Ends the child and all its descendants, and removes its scratch folder. For the caller of :meth:`call` only."""
        if self._closed:
            return
        self._closed = True
        tree.kill_tree(self.pid, self.marker)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=REAP_SECONDS)
        if self._process.stdout is not None:
            self._process.stdout.close()
        for fd in (self._request, self._reply, self._lifeline):
            os.close(fd)
        self._scratch.remove()

    def _environment(self, extra: Mapping[str, str]) -> dict[str, str]:
        paths = [path for path in sys.path if path]
        if "" in sys.path:
            paths.insert(0, os.getcwd())
        return {
            **inherited(os.environ),
            **extra,
            "PYTHONPATH": os.pathsep.join(paths),
            "PYTHONUNBUFFERED": "1",
            "PYTHONFAULTHANDLER": "1",
            "TILELANG_CACHE_DIR": os.path.join(self.scratch, "tilelang"),
            "TMPDIR": self.scratch,
            "WARPWRIGHT_CHILD_SCRATCH": self.scratch,
            tree.MARKER: self.marker,
        }

    def _send(self, data: bytes, run: "_Run") -> Reply | None:
        """Writes the request; a child that does not read it (large payload, not started yet) is still under the start clock."""
        os.set_blocking(self._request, False)
        view = memoryview(data)
        while view:
            try:
                view = view[os.write(self._request, view) :]
            except BlockingIOError:
                time.sleep(0.005)
                self._drain()
                if (reply := run.expired()) is not None:
                    return reply
            except BrokenPipeError as error:
                if self.tasks_done:
                    raise self._gone(run) from error
                return self._ended(run)
        return None

    def _watch(self, run: "_Run") -> Reply:
        with selectors.DefaultSelector() as selector:
            selector.register(self._reply, selectors.EVENT_READ)
            selector.register(self._output, selectors.EVENT_READ)
            next_look = time.monotonic() + POLL_SECONDS
            while True:
                for key, _ in selector.select(POLL_SECONDS):
                    if key.fd == self._reply:
                        if (reply := self._answers(run)) is not None:
                            return reply
                    elif self._drain():
                        selector.unregister(self._output)
                    if self.printed > run.limits.output_bytes:
                        return OutputExceeded(run.limits.output_bytes, self._tail_text())
                if (reply := run.expired(self._tail_text)) is not None:
                    return reply
                if run.started_at is not None and time.monotonic() >= next_look:
                    if (reply := self._over_limit(run)) is not None:
                        return reply
                    next_look = time.monotonic() + TREE_POLL_SECONDS

    def _answers(self, run: "_Run") -> Reply | None:
        """Reads the reply pipe; a reply when the task is over."""
        try:
            chunk = os.read(self._reply, 1 << 20)
        except BlockingIOError:
            return None
        if not chunk:
            return self._ended(run)
        try:
            frames = run.reader.feed(chunk)
        except OverflowError:
            return OutputExceeded(run.limits.output_bytes, self._tail_text())
        except FrameError as error:
            return ProtocolBroken(str(error))
        for frame in frames:
            if (reply := self._frame(frame, run)) is not None:
                return reply
        return None

    def _frame(self, frame: dict[str, Any], run: "_Run") -> Reply | None:
        kind = frame.get("kind")
        try:
            if kind == "started":
                run.begin(self.pid)
            elif kind == "within":
                run.expect(frame["seconds"], frame["what"], self.pid)
            elif kind == "event":
                if run.on_event is not None:
                    run.on_event(frame["event"])
            elif kind == "log":
                # A line may come from a child of the child: then its own fields name the process and take precedence.
                told = {"child": self.pid, **frame["fields"], "trace": frame["trace"], "logger": frame["logger"]}
                log.log(int(frame["level"]), "%s", frame["message"], extra=told)
            elif kind == "returned":
                self._drain()
                return Returned(frame["value"], run.seconds(), self._tail_text())
            elif kind == "refused":
                return Refused(frame["code"], frame["message"], frame["place"], frame.get("error", "WarpwrightError"))
            elif kind == "raised":
                return Raised(frame["type"], frame["message"], frame["trace"])
            elif kind == "memory":
                return OutOfMemory(tree.use(self.pid).rss_bytes, run.limits.memory_bytes, self._tail_text())
            else:
                return ProtocolBroken(f"a frame of unknown kind {kind!r}")
        except KeyError as error:
            return ProtocolBroken(f"a {kind!r} frame without {error}")
        return None

    def _ended(self, run: "_Run") -> Reply:
        """The reply pipe closed: the process ended, or a task closed descriptors that are not its own."""
        try:
            code = self._process.wait(timeout=2.0)
        except subprocess.TimeoutExpired:
            return ProtocolBroken("the child closed its reply pipe but lives")
        if self._stopped:
            return Cancelled()
        self._drain()
        tail = self._tail_text()
        if run.started_at is None and code in (0, -signal.SIGKILL, -signal.SIGTERM) and self.tasks_done:
            raise self._gone(run)
        if code == -signal.SIGKILL and machine.oom_kills() > run.oom_kills:
            return OutOfMemory(run.peak_bytes, run.limits.memory_bytes, tail)
        return Crashed(code if code >= 0 else None, -code if code < 0 else None, tail)

    def _gone(self, run: "_Run") -> ChildGone:
        self.close()
        return ChildGone(f"child {self.pid} ended while idle (exit {self._process.returncode})")

    def _over_limit(self, run: "_Run") -> Reply | None:
        used = tree.use(self.pid)
        run.peak_bytes = max(run.peak_bytes, used.rss_bytes)
        if used.rss_bytes > run.limits.memory_bytes:
            return OutOfMemory(used.rss_bytes, run.limits.memory_bytes, self._tail_text())
        if used.cpu_seconds - run.cpu_before > run.limits.cpu_seconds:
            return TimedOut("cpu", run.limits.cpu_seconds, self._tail_text())
        return None

    def _drain(self) -> bool:
        """Reads what the child printed and keeps its end; True at end of file."""
        with contextlib.suppress(BlockingIOError):
            for _ in range(64):
                chunk = os.read(self._output, 1 << 16)
                if not chunk:
                    return True
                self.printed += len(chunk)
                self._tail += chunk
                del self._tail[:-TAIL_BYTES]
        return False

    def _tail_text(self) -> str:
        return self._tail.decode(errors="replace")


class _Expected:
    """A task's announcement that its current step ends within so many seconds. Waiting for a processor does not count."""

    def __init__(self, seconds: float, what: str, pid: int) -> None:
        self.seconds = seconds
        self.what = what
        self._pid = pid
        self._until = time.monotonic() + seconds
        self._queued = tree.queued_seconds(pid)

    def late(self) -> bool:
        """Whether it should be over by now."""
        now = time.monotonic()
        return now > self._until and now > self._until + tree.queued_seconds(self._pid) - self._queued


class _Run:
    """Clocks and counters of one task."""

    def __init__(
        self, limits: Limits, reader: FrameReader, cancel: threading.Event | None, on_event: OnEvent | None
    ) -> None:
        self.limits = limits
        self.reader = reader
        self.cancel = cancel
        self.on_event = on_event
        self.created_at = time.monotonic()
        self.started_at: float | None = None
        self.expected: _Expected | None = None
        self.cpu_before = 0.0
        self.peak_bytes = 0
        self.oom_kills = machine.oom_kills()

    def begin(self, pid: int) -> None:
        """The child says that the work starts now."""
        self.cpu_before = tree.use(pid).cpu_seconds
        self.started_at = time.monotonic()

    def expect(self, seconds: float | None, what: str, pid: int) -> None:
        """The child says how long what it does now may take; None: it is over."""
        self.expected = None if seconds is None else _Expected(seconds, what, pid)

    def seconds(self) -> float:
        return 0.0 if self.started_at is None else time.monotonic() - self.started_at

    def expired(self, tail: Callable[[], str] = str) -> Reply | None:
        """A reply if the caller gave up or a clock ran out."""
        if self.cancel is not None and self.cancel.is_set():
            return Cancelled()
        now = time.monotonic()
        if self.started_at is None:
            over = now - self.created_at > self.limits.start_seconds
            return TimedOut("start", self.limits.start_seconds, tail()) if over else None
        if self.expected is not None and self.expected.late():
            return TimedOut("launch", self.expected.seconds, tail(), self.expected.what)
        over = now - self.started_at > self.limits.wall_seconds
        return TimedOut("wall", self.limits.wall_seconds, tail()) if over else None
