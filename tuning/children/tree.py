"""A child's process tree: what it uses, and how to end all of it.

A descendant may have left the process group (setsid) or lost its parent (double fork). While the child lives it adopts such
orphans; after its death they are found by a marker in their environment.
"""

import contextlib
import os
import signal
import time
from dataclasses import dataclass

import psutil

__all__ = ["MARKER", "TreeUse", "kill_descendants", "kill_tree", "members", "queued_seconds", "use"]

MARKER = "WARPWRIGHT_CHILD_ID"


@dataclass(frozen=True, slots=True)
class TreeUse:
    """Resident memory and CPU time of a process and its live descendants; reaped ones count in their parent's CPU time."""

    rss_bytes: int
    cpu_seconds: float


def use(pid: int) -> TreeUse:
    """Current use of the tree below a process; zeros when it is gone."""
    rss, cpu = 0, 0.0
    for process in _family(pid):
        with contextlib.suppress(psutil.Error):
            rss += process.memory_info().rss
            times = process.cpu_times()
            cpu += times.user + times.system + times.children_user + times.children_system
    return TreeUse(rss, cpu)


def queued_seconds(pid: int) -> float:
    """How long a process's first thread has waited for a processor so far (``/proc/PID/schedstat``); 0 where none says."""
    try:
        with open(f"/proc/{pid}/schedstat", "rb") as file:
            return int(file.read().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0


def members(pid: int, marker: str) -> set[int]:
    """All live processes that belong to a child: descendants, its process group, and carriers of its marker."""
    found = {process.pid for process in _family(pid)}
    needle = f"{MARKER}={marker}".encode()
    for other in psutil.pids():
        if other in found or other == os.getpid():
            continue
        if _group(other) == pid or needle in _environment(other):
            found.add(other)
    return {member for member in found if _alive(member)}


def kill_tree(pid: int, marker: str, *, patience_seconds: float = 5.0) -> bool:
    """Ends the child and everything that it started; True if nothing is left within the time limit."""
    return _kill(pid, marker, spare=None, patience_seconds=patience_seconds)


def kill_descendants(pid: int, marker: str, *, patience_seconds: float = 5.0) -> bool:
    """Ends what a finished task left running but spares the warm child itself.

    The child has adopted every orphan, so its descendants are complete; the costly scan of all processes is not needed.
    """
    left = {process.pid for process in _family(pid)} - {pid}
    if not any(_alive(member) for member in left):
        return True
    return _kill(pid, marker, spare=pid, patience_seconds=patience_seconds)


def _kill(pid: int, marker: str, *, spare: int | None, patience_seconds: float) -> bool:
    deadline = time.monotonic() + patience_seconds
    while True:
        left = members(pid, marker) - {spare}
        if not left:
            return True
        if time.monotonic() > deadline:
            return False
        for member in left:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(member, signal.SIGKILL)
        time.sleep(0.01)


def _family(pid: int) -> list[psutil.Process]:
    try:
        process = psutil.Process(pid)
        return [process, *process.children(recursive=True)]
    except psutil.Error:
        return []


def _alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() not in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
    except psutil.Error:
        return False


def _group(pid: int) -> int | None:
    try:
        return os.getpgid(pid)
    except OSError:
        return None


def _environment(pid: int) -> bytes:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return file.read()
    except OSError:
        return b""
