"""The children port, held to its contract by tasks that misbehave in every way seen in the field."""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from warpwright.tuning.children import (
    Cancelled,
    ChildPool,
    Crashed,
    Limits,
    OutOfMemory,
    OutputExceeded,
    ProtocolBroken,
    Raised,
    Refused,
    Reply,
    Returned,
    TimedOut,
    process,
    run_task,
    users_environment,
)
from warpwright.tuning.children.scratch import Scratch, sweep

LIMITS = Limits(wall_seconds=120.0, cpu_seconds=60, memory_bytes=300 << 20, output_bytes=4 << 20)
"""Room for a busy machine: nothing that behaves comes near them."""
SHORT = replace(LIMITS, wall_seconds=1.0)
"""For tasks that never end."""


@pytest.fixture(scope="module")
def pool() -> Iterator[ChildPool]:
    with ChildPool(1) as children:
        yield children


def gone(pid: int, seconds: float = 30.0) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            return True
        time.sleep(0.02)
    return False


def works(pool: ChildPool) -> bool:
    reply = pool.run("testing.echo", {"n": 7}, LIMITS)
    return isinstance(reply, Returned) and reply.value["payload"] == {"n": 7}


def test_a_task_returns_json_and_its_prints_do_not_disturb_the_protocol(pool: ChildPool) -> None:
    reply = pool.run("testing.echo", {"print": "hello from native code", "ü": [1, None, 2.5]}, LIMITS, trace="t-1")
    assert isinstance(reply, Returned)
    assert reply.value["payload"]["ü"] == [1, None, 2.5]
    assert reply.value["trace"] == "t-1"
    assert "hello from native code" in reply.output_tail


def test_a_recorded_trace_reaches_the_child_in_the_standards_form(pool: ChildPool) -> None:
    trace, span = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
    parent = f"00-{trace}-{span}-01"
    recorded = pool.run("testing.echo", {}, LIMITS, trace=parent)
    assert isinstance(recorded, Returned)
    assert recorded.value["traceparent"] == parent
    only_logged = pool.run("testing.echo", {}, LIMITS, trace=trace)
    assert isinstance(only_logged, Returned)
    assert (only_logged.value["trace"], only_logged.value["traceparent"]) == (trace, "")


def test_a_child_has_its_own_process_group_and_stays_warm(pool: ChildPool) -> None:
    first, second = (pool.run("testing.echo", {}, LIMITS) for _ in range(2))
    assert isinstance(first, Returned)
    assert isinstance(second, Returned)
    assert first.value["pid"] == second.value["pid"] == first.value["group"] != os.getpgrp()


@pytest.mark.parametrize("task", ["testing.hang", "testing.spin", "testing.freeze"])
def test_a_hang_is_killed_at_its_limit_and_replaced(pool: ChildPool, task: str) -> None:
    reply = pool.run(task, {}, SHORT)
    assert isinstance(reply, TimedOut)
    assert reply.clock == "wall"
    assert works(pool)


def test_a_task_is_held_to_what_it_said_of_what_it_does(pool: ChildPool) -> None:
    reply = pool.run("testing.late", {"within": 0.2, "seconds": 3600, "what": "launch of k"}, LIMITS)
    assert isinstance(reply, TimedOut)
    assert (reply.clock, reply.limit_seconds, reply.what) == ("launch", 0.2, "launch of k")
    assert works(pool)


def test_what_is_over_in_time_binds_nobody_afterwards(pool: ChildPool) -> None:
    payload = {"within": 5.0, "seconds": 0.0, "what": "launch of k", "afterwards": 0.5}
    assert isinstance(pool.run("testing.late", payload, LIMITS), Returned)


def test_the_cpu_clock_counts_work_not_waiting(pool: ChildPool) -> None:
    reply = pool.run("testing.burn", {}, replace(LIMITS, cpu_seconds=0.5))
    assert isinstance(reply, TimedOut)
    assert reply.clock == "cpu"


@pytest.mark.parametrize(
    ("task", "expected"),
    [("testing.segfault", (None, signal.SIGSEGV)), ("testing.exit", (3, None))],
)
def test_a_crash_is_reported_with_its_cause(
    pool: ChildPool, task: str, expected: tuple[int | None, int | None]
) -> None:
    reply = pool.run(task, {"code": 3}, LIMITS)
    assert isinstance(reply, Crashed)
    assert (reply.exit_code, reply.signal) == expected
    assert works(pool)


@pytest.mark.parametrize("fork", [False, True])
def test_memory_of_the_whole_tree_is_bounded(pool: ChildPool, fork: bool) -> None:
    limits = replace(LIMITS, memory_bytes=200 << 20)
    reply = pool.run("testing.allocate", {"fork": fork}, limits)
    assert isinstance(reply, OutOfMemory)
    assert reply.used_bytes > reply.limit_bytes == 200 << 20
    assert works(pool)


def test_a_sleeper_left_behind_by_a_good_task_is_ended(pool: ChildPool) -> None:
    reply = pool.run("testing.orphan", {}, LIMITS)
    assert isinstance(reply, Returned)
    assert gone(reply.value["sleeper"])
    assert works(pool)


def test_grandchildren_and_temporary_files_die_with_a_timed_out_task(pool: ChildPool) -> None:
    events: list[dict[str, Any]] = []
    for seconds in (1.0, 5.0, 25.0, 125.0):  # until the task got as far as its sleeper
        reply = pool.run("testing.orphan_then_hang", {}, replace(LIMITS, wall_seconds=seconds), on_event=events.append)
        assert isinstance(reply, TimedOut)
        if events:
            break
    assert gone(events[0]["sleeper"])
    assert not Path(events[0]["file"]).exists()


def test_temporary_files_of_a_good_task_are_removed_too(pool: ChildPool) -> None:
    reply = pool.run("testing.scratch", {}, LIMITS)
    assert isinstance(reply, Returned)
    assert not Path(reply.value["folder"]).exists()


@pytest.mark.parametrize(("task", "payload"), [("testing.flood", {}), ("testing.flood_reply", {"bytes": 5 << 20})])
def test_output_is_bounded(pool: ChildPool, task: str, payload: dict[str, Any]) -> None:
    reply = pool.run(task, payload, LIMITS)
    assert isinstance(reply, OutputExceeded)
    assert works(pool)


def test_bytes_that_are_no_frame_are_an_infrastructure_answer(pool: ChildPool) -> None:
    assert isinstance(pool.run("testing.scribble", {}, LIMITS), ProtocolBroken)
    assert works(pool)


def test_pipes_with_high_numbers_are_as_good_as_low_ones() -> None:
    """A busy process has hundreds of descriptors open; a child's pipes keep the numbers that its parent gave them."""
    with ExitStack() as held, ChildPool(1) as pool:
        while len(os.listdir("/proc/self/fd")) < 300:
            held.callback(os.close, os.open(os.devnull, os.O_RDONLY))
        assert works(pool)
        assert isinstance(pool.run("testing.scribble", {}, LIMITS), ProtocolBroken)
        assert works(pool)


def test_expected_and_unexpected_errors_come_back_apart(pool: ChildPool) -> None:
    assert pool.run("testing.refuse", {}, LIMITS) == Refused(
        "threads-2d", "2-D thread blocks", "/body", "NotApplicable"
    )
    failed = pool.run("testing.fail", {}, LIMITS)
    assert isinstance(failed, Raised)
    assert failed.type == "RuntimeError"
    assert "misbehaving.py" in failed.trace


def test_a_result_that_json_cannot_hold_is_the_tasks_fault(pool: ChildPool) -> None:
    assert isinstance(pool.run("testing.fail", {"nan": True}, LIMITS), Raised)
    assert works(pool)


def test_a_name_outside_the_registry_runs_nothing(pool: ChildPool) -> None:
    reply = pool.run("os:system", {"command": "true"}, LIMITS)
    assert isinstance(reply, Refused)
    assert reply.code == "unknown-task"


def test_events_arrive_while_the_task_runs(pool: ChildPool) -> None:
    events: list[dict[str, Any]] = []
    assert isinstance(pool.run("testing.steps", {"count": 3}, LIMITS, on_event=events.append), Returned)
    assert events == [{"step": 0}, {"step": 1}, {"step": 2}]


def test_a_running_task_can_be_cancelled(pool: ChildPool) -> None:
    cancel = threading.Event()
    reply = pool.run("testing.hang", {}, Limits(wall_seconds=3600), cancel=cancel, on_event=lambda event: cancel.set())
    assert reply == Cancelled()
    assert works(pool)


def test_waiting_for_a_slot_costs_no_task_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """While the second task waits for the slot, the clock passes both limits: only the first one is over."""
    ahead = [0.0]
    clock = SimpleNamespace(monotonic=lambda: time.monotonic() + ahead[0], sleep=time.sleep)
    monkeypatch.setattr(process, "time", clock)
    hanging, waiting = threading.Event(), threading.Event()
    replies: dict[str, Reply] = {}
    with ChildPool(1) as pool:
        take = pool._slots.acquire

        def acquire(*arguments: Any, **options: Any) -> bool:
            if hanging.is_set():
                waiting.set()
            return take(*arguments, **options)

        monkeypatch.setattr(pool._slots, "acquire", acquire)

        def run(task: str) -> None:
            replies[task] = pool.run(task, {}, LIMITS, on_event=lambda event: hanging.set())

        first = threading.Thread(target=run, args=("testing.hang",))
        first.start()
        assert hanging.wait(120.0)
        second = threading.Thread(target=run, args=("testing.echo",))
        second.start()
        assert waiting.wait(120.0)
        ahead[0] = 10 * LIMITS.wall_seconds
        first.join()
        second.join()
    assert {task: type(reply) for task, reply in replies.items()} == {
        "testing.hang": TimedOut,
        "testing.echo": Returned,
    }


def test_an_idle_child_that_was_killed_is_replaced_unseen(pool: ChildPool) -> None:
    reply = pool.run("testing.echo", {}, LIMITS)
    assert isinstance(reply, Returned)
    os.kill(reply.value["pid"], signal.SIGKILL)
    assert works(pool)


def test_a_child_killed_at_work_is_reported_not_awaited(pool: ChildPool) -> None:
    def kill(event: dict[str, Any]) -> None:
        os.kill(event["hanging"], signal.SIGKILL)

    reply = pool.run("testing.hang", {}, Limits(wall_seconds=3600), on_event=kill)
    assert isinstance(reply, Crashed)
    assert reply.signal == signal.SIGKILL


def test_folders_of_dead_parents_are_removed_and_those_in_use_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process group that is killed whole leaves its folders: 36 lay about after one afternoon."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    left, other = tmp_path / "warpwright-scratch-of-the-dead", tmp_path / "somebody-elses"
    used = Scratch()
    (left / "tilelang").mkdir(parents=True)
    other.mkdir()
    assert sweep() == 1
    assert {path.name for path in tmp_path.iterdir()} == {Path(used.path).name, other.name}
    used.remove()
    used.remove()
    assert list(tmp_path.iterdir()) == [other]


def test_children_are_retired_after_their_share_of_tasks() -> None:
    with ChildPool(1, tasks_per_child=2) as pool:
        replies = [pool.run("testing.echo", {}, LIMITS) for _ in range(3)]
    pids = [reply.value["pid"] for reply in replies if isinstance(reply, Returned)]
    assert pids[0] == pids[1] != pids[2]


def test_a_large_payload_crosses_whole(pool: ChildPool) -> None:
    text = "x" * (3 << 20)
    reply = pool.run("testing.echo", {"text": text}, replace(LIMITS, output_bytes=8 << 20))
    assert isinstance(reply, Returned)
    assert reply.value["payload"]["text"] == text


PARENT = """
import sys, threading
from warpwright.tuning.children import ChildPool, Limits
pool = ChildPool(1)
print(pool.run("testing.echo", {}, Limits()).value["pid"], flush=True)
pool.run("testing.freeze", {}, Limits(wall_seconds=600))
"""


def test_a_frozen_child_dies_with_a_parent_that_was_killed() -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT],
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    time.sleep(0.5)
    assert psutil.pid_exists(child)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    assert gone(child)


def test_one_shot_tasks_leave_nothing_behind() -> None:
    reply = run_task("testing.echo", {}, LIMITS)
    assert isinstance(reply, Returned)
    assert gone(reply.value["pid"])


def test_a_child_inherits_what_compilers_read_and_no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    """A service's children work on foreign IR; one for the user's own file is that user's program."""
    secrets = {
        "WARPWRIGHT_TOKEN": "ww_secret",
        "WARPWRIGHT_DATABASE_URL": "postgresql://u:secret@h/d",
        "WARPWRIGHT_BROKER_URL": "redis://:secret@h/0",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "TILELANG_TOKEN": "secret",
    }
    for name, value in (secrets | {"CUDA_HOME": "/cuda", "LC_ALL": "C.UTF-8", "PYTHONPATH": "elsewhere"}).items():
        monkeypatch.setenv(name, value)
    wholes: list[tuple[dict[str, str] | None, set[str]]] = [(None, set()), (users_environment(), set(secrets))]
    for environment, expected in wholes:
        with ChildPool(1, environment=environment) as pool:
            child = pool.run("testing.echo", {}, LIMITS)
            assert isinstance(child, Returned)
            told = dict(
                item.split("=", 1)
                for item in Path(f"/proc/{child.value['pid']}/environ").read_text().split("\0")
                if item
            )
            assert secrets.keys() & told.keys() == expected
            assert (told["CUDA_HOME"], told["LC_ALL"]) == ("/cuda", "C.UTF-8")
            # Where modules and temporary files are is the parent's word, whoever's environment it is.
            assert told["PYTHONPATH"] != "elsewhere"
            assert told["TMPDIR"] == told["WARPWRIGHT_CHILD_SCRATCH"]
