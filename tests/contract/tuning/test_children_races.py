"""Children that end at the wrong moment: while they start, while the pool closes, before the work, or never at all."""

import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from warpwright.tuning.children import (
    Cancelled,
    ChildPool,
    Crashed,
    Limits,
    ProtocolBroken,
    Reply,
    Returned,
    process,
    tree,
)
from warpwright.tuning.children.frames import encode
from warpwright.tuning.children.process import Child

LIMITS = Limits(wall_seconds=60.0, cpu_seconds=60, memory_bytes=300 << 20, output_bytes=4 << 20)
DEAD = [sys.executable, "-c", "import os; os._exit(3)"]


def in_thread(work: Callable[[], Reply]) -> tuple[threading.Thread, list[Reply]]:
    replies: list[Reply] = []
    thread = threading.Thread(target=lambda: replies.append(work()))
    thread.start()
    return thread, replies


def open_descriptors() -> set[str]:
    return set(os.listdir("/proc/self/fd"))


def test_a_pool_that_closes_gives_its_busy_callers_their_answer_at_once() -> None:
    pool = ChildPool(1)
    begun = threading.Event()
    thread, replies = in_thread(
        lambda: pool.run("testing.orphan_then_hang", {}, LIMITS, on_event=lambda event: begun.set())
    )
    assert begun.wait(120.0)
    pool.close()
    thread.join()
    assert replies == [Cancelled()]
    assert pool.run("testing.echo", {}, LIMITS) == Cancelled()


def test_a_child_that_is_spawned_while_the_pool_closes_is_not_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = ChildPool(1)
    spawned: list[Child] = []

    class Slow(Child):
        def __init__(self, environment: Any = None) -> None:
            super().__init__(environment)
            spawned.append(self)
            pool.close()

    monkeypatch.setattr("warpwright.tuning.children.pool.Child", Slow)
    assert pool.run("testing.hang", {}, LIMITS) == Cancelled()
    assert [child.alive() for child in spawned] == [False]
    assert tree.members(spawned[0].pid, spawned[0].marker) == set()


@pytest.fixture
def stillborn(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Every new child ends before it reads anything; the list has an entry for each."""
    born: list[int] = []
    real = subprocess.Popen

    def spawn(command: list[str], **options: Any) -> Any:
        born.append(1)
        child = real(DEAD, **options)
        child.wait()
        return child

    monkeypatch.setattr("subprocess.Popen", spawn)
    return born


@pytest.mark.parametrize("size", [10, 1 << 20])
def test_children_that_never_start_are_an_answer_and_not_a_loop(stillborn: list[int], size: int) -> None:
    with ChildPool(1) as pool:
        reply = pool.run("testing.echo", {"text": "y" * size}, LIMITS)
    assert reply == Crashed(3, None, "")
    assert len(stillborn) == 1


def test_a_warm_up_that_never_starts_is_an_answer_too(stillborn: list[int]) -> None:
    with ChildPool(1, warm_task="testing.echo") as pool:
        assert isinstance(pool.run("testing.echo", {"text": "y" * (1 << 20)}, LIMITS), Crashed)
    assert len(stillborn) == 2


def test_children_that_end_after_every_warm_up_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    real = Child.call

    def call(self: Child, *arguments: Any, **options: Any) -> Reply:
        calls.append(options.get("warm", False))
        reply = real(self, *arguments, **options)
        if options.get("warm"):
            os.kill(self.pid, 9)
            time.sleep(0.05)
        return reply

    monkeypatch.setattr(Child, "call", call)
    monkeypatch.setattr(Child, "alive", lambda self: not self._closed)
    with ChildPool(1, warm_task="testing.echo") as pool:
        reply = pool.run("testing.echo", {}, LIMITS)
    assert isinstance(reply, ProtocolBroken)
    assert "3 children ended before the work began" in reply.message
    assert calls == [True, False] * 3


def test_no_process_to_be_had_is_an_answer_and_leaves_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refuse(*arguments: Any, **options: Any) -> Any:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr("subprocess.Popen", refuse)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    before = open_descriptors()
    with ChildPool(1) as pool:
        reply = pool.run("testing.echo", {}, LIMITS)
    assert reply == ProtocolBroken("no child could be started: [Errno 11] Resource temporarily unavailable")
    assert open_descriptors() == before
    assert list(tmp_path.iterdir()) == []


def test_a_child_that_cannot_be_killed_does_not_hold_its_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process inside a driver's call is deaf to SIGKILL; here the kill does nothing."""
    child = Child()
    kill = tree.kill_tree
    monkeypatch.setattr(tree, "kill_tree", lambda pid, marker: False)
    monkeypatch.setattr(process, "REAP_SECONDS", 0.2)
    reply = child.call("testing.hang", {}, Limits(wall_seconds=0.3))
    assert type(reply).__name__ == "TimedOut"
    assert not child.alive()
    assert kill(child.pid, child.marker)
    child._process.wait()


def test_a_child_whose_parent_ended_while_it_started_does_not_begin(tmp_path: Path) -> None:
    request_read, request_write = os.pipe()
    lifeline_read, lifeline_write = os.pipe()
    os.write(request_write, encode({"task": "testing.hang", "payload": {}, "trace": "", "warm": False}))
    os.close(lifeline_write)
    with (tmp_path / "reply").open("wb") as reply:
        handed_over = (request_read, reply.fileno(), lifeline_read)
        child = subprocess.Popen(
            [sys.executable, "-m", "warpwright.tuning.children.main", *map(str, handed_over)],
            pass_fds=handed_over, start_new_session=True,
        )  # fmt: skip
        try:
            assert child.wait(timeout=120.0) == 0
        finally:
            child.kill()
            for fd in (request_read, request_write, lifeline_read):
                os.close(fd)
    assert (tmp_path / "reply").read_bytes() == b""


def test_what_a_task_prints_after_its_answer_is_not_the_next_ones() -> None:
    with ChildPool(1) as pool:
        first = pool.run("testing.echo", {}, LIMITS)
        assert isinstance(first, Returned)
        second = pool.run("testing.print_late", {}, LIMITS)
        assert isinstance(second, Returned)
        (idle,) = pool._idle
        assert select.select([idle._output], [], [], 120.0)[0], "nothing was printed late"
        third = pool.run("testing.echo", {"print": "mine"}, LIMITS)
        assert isinstance(third, Returned)
        assert third.value["pid"] == first.value["pid"]
        assert "late" not in third.output_tail
        assert "mine" in third.output_tail
