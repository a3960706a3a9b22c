"""Tasks that misbehave in every way that was seen in a compiler or a device runner; run in children only."""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from warpwright.lowering.compile.build import build
from warpwright.lowering.compile.toolchain import CudaToolchain
from warpwright.lowering.emit import emit, within
from warpwright.solver.domain.errors import NotApplicable

__all__: list[str] = []

Values = dict[str, Any]


def echo(payload: Values) -> Values:
    """Well behaved: returns its payload, and its process id."""
    sys.stdout.write(str(payload.get("print", "")) + "\n")
    names = {"trace": "WARPWRIGHT_TRACE", "traceparent": "TRACEPARENT", "marker": "WARPWRIGHT_CHILD_ID"}
    told = {key: os.environ.get(name, "") for key, name in names.items()}
    return {"payload": payload, "pid": os.getpid(), "group": os.getpgrp(), **told}


def hang(payload: Values) -> Values:
    """Sleeps for an hour, with SIGTERM ignored; an event says that it begins."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.write(1, b"about to hang\n")
    emit({"hanging": os.getpid()})
    time.sleep(3600)
    return {}


def late(payload: Values) -> Values:
    """Announces a step and its time limit, takes as long as it is told, and then continues without another message."""
    with within(float(payload["within"]), str(payload["what"])):
        time.sleep(float(payload["seconds"]))
    time.sleep(float(payload.get("afterwards", 0.0)))
    return {}


def spin(payload: Values) -> Values:
    """Burns CPU in native code that holds the interpreter lock for seconds at a time, for ever."""
    numbers = ctypes.create_string_buffer(os.urandom(4 << 20) * 8)
    compare = ctypes.PyDLL(None).strcmp
    while True:
        ctypes.PyDLL(None).qsort(numbers, len(numbers) // 8, 8, compare)


def freeze(payload: Values) -> Values:
    """Blocks in native code that holds the interpreter lock and never returns: no Python signal handler can ever run."""
    os.write(1, b"about to freeze\n")
    ctypes.PyDLL(None).pause()
    return {}


def segfault(payload: Values) -> Values:
    """Dies by SIGSEGV in native code."""
    ctypes.string_at(0)
    return {}


def leave(payload: Values) -> Values:
    """Ends the process without an answer."""
    os._exit(int(payload.get("code", 3)))


def allocate(payload: Values) -> Values:
    """Allocates memory, page by page, until it is stopped; in a grandchild if ``fork`` is set."""
    if payload.get("fork"):
        subprocess.run([sys.executable, "-c", _ALLOCATE], check=False)
        return {}
    exec(_ALLOCATE, {})  # noqa: S102 - our own constant, shared with the grandchild
    return {}


_ALLOCATE = """
import time
held = []
while sum(map(len, held)) < 2 << 30:
    held.append(bytearray(b"x") * (16 << 20))
    time.sleep(0.01)
time.sleep(60)
"""


def orphan(payload: Values) -> Values:
    """Answers at once but leaves a sleeper behind that has left the session and lost its parent."""
    return {"sleeper": _sleeper()}


def orphan_then_hang(payload: Values) -> Values:
    """Like a compile step whose grandchild outlives it: starts a sleeper, writes a temporary file, then hangs."""
    with tempfile.NamedTemporaryFile(delete=False) as file:
        file.write(b"left behind")
    emit({"sleeper": _sleeper(), "file": file.name})
    time.sleep(3600)
    return {}


def _sleeper() -> int:
    script = (
        "import os, time\n"
        "if os.fork(): os._exit(0)\n"
        "os.setsid()\n"
        "print(os.getpid(), flush=True)\n"
        "os.close(1)\n"
        "time.sleep(3600)\n"
    )
    run = subprocess.run([sys.executable, "-c", script], stdout=subprocess.PIPE, check=True, text=True)
    return int(run.stdout)


def flood(payload: Values) -> Values:
    """Prints gigabytes, past Python, straight to descriptor 1."""
    line = b"y" * (1 << 16)
    while True:
        os.write(1, line)


def flood_reply(payload: Values) -> Values:
    """Answers with more than any limit allows."""
    return {"text": "y" * int(payload["bytes"])}


def scribble(payload: Values) -> Values:
    """Writes bytes that are not a frame into every open descriptor, as a confused native library may.

    The pipes keep the numbers that they have in the parent, so no fixed range of numbers finds them in a busy one.
    """
    for fd in sorted(map(int, os.listdir("/proc/self/fd"))):
        if fd > 2:
            with contextlib.suppress(OSError):
                os.write(fd, b"\x00\x00\x00\x05hello" * 4)
    time.sleep(3600)
    return {}


def refuse(payload: Values) -> Values:
    """Raises an expected error."""
    raise NotApplicable("2-D thread blocks", code="threads-2d", place="/body")


def fail(payload: Values) -> Values:
    """Raises an unexpected error, or returns something that JSON cannot represent."""
    if payload.get("nan"):
        return {"time": float("nan")}
    raise RuntimeError("an internal check failed: x > 0")


def burn(payload: Values) -> Values:
    """Uses CPU time for ever, in Python."""
    while True:
        pass


def scratch(payload: Values) -> Values:
    """Returns where its temporary files go, and leaves one there."""
    folder = tempfile.mkdtemp()
    with open(os.path.join(folder, "left"), "w") as file:
        file.write("x")
    return {"folder": folder}


def build_with(payload: Values) -> Values:
    """The real build step with the given compiler, without TileLang before it."""
    tools = CudaToolchain(Path(payload["nvcc"]), (Path(payload["output"]) / "a" / "b" / "include",), None)
    built = build("// source", "sm_90a", tools, Path(payload["output"]))
    return {"binary": str(built.binary), "failure": built.failure.kind if built.failure else None}


def steps(payload: Values) -> Values:
    """Emits one event per step."""
    for step in range(int(payload["count"])):
        emit({"step": step})
    return {"count": payload["count"]}


def print_late(payload: Values) -> Values:
    """Answers at once, and prints from a thread after the answer was sent."""
    threading.Timer(0.2, os.write, (1, b"late\n")).start()
    return {}
