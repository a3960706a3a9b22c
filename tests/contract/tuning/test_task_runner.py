"""The task runner port's contract, held by every adapter: answers of all kinds, files both ways, events, cancellation.

All processes of these runners are on this machine, so that a test can see whether a task's process is gone.
"""

import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psutil
import pytest

from tests.contract.tuning.conftest import RUNNERS
from warpwright.service.settings import TASK_RUNNERS
from warpwright.tuning.children import (
    Cancelled,
    Crashed,
    Limits,
    OutOfMemory,
    OutputExceeded,
    Raised,
    Refused,
    Reply,
    Returned,
    TimedOut,
)
from warpwright.tuning.task_runner import TaskRunner

LIMITS = Limits(wall_seconds=120.0, cpu_seconds=60, memory_bytes=300 << 20, output_bytes=4 << 20)
"""Room for a busy machine: nothing that behaves comes near them."""
SHORT = Limits(wall_seconds=120.0, cpu_seconds=1)
"""For tasks that never end: the clock of their work, which does not run while a busy machine makes them wait."""
BYTES = bytes(range(256))


def run(runner: TaskRunner, task: str, payload: dict[str, Any] | None = None, limits: Limits = LIMITS) -> Reply:
    return runner.run(task, payload or {}, limits, cancel=threading.Event()).reply


def works(runner: TaskRunner) -> bool:
    return isinstance(run(runner, "testing.echo"), Returned)


def gone(pid: int, seconds: float = 30.0) -> bool:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            return True
        time.sleep(0.02)
    return False


def test_a_value_comes_back_as_it_went_and_the_payload_stays_the_callers(runner: TaskRunner) -> None:
    payload = {"ü": [1, None, 2.5, {"deep": "\N{SNOWMAN}"}]}
    answer = runner.run(
        "testing.echo", payload, LIMITS, cancel=threading.Event(), trace="t-1", output=True, inputs={"a": b"x"}
    )
    assert isinstance(answer.reply, Returned)
    assert answer.reply.value["payload"]["ü"] == payload["ü"]
    assert answer.reply.value["trace"] == "t-1"
    assert list(payload) == ["ü"]


def told(reply: Reply) -> tuple[object, ...]:
    """What a reply says, without what differs from run to run."""
    match reply:
        case Refused(code=code, error=error, place=place):
            return code, error, place
        case Raised(type=kind, message=message):
            return kind, message
        case Crashed(exit_code=code, signal=number):
            return code, number
        case TimedOut(clock=clock, limit_seconds=limit):
            return clock, limit
        case OutOfMemory(limit_bytes=limit) | OutputExceeded(limit_bytes=limit):
            return (limit,)
        case _:
            return (reply,)


@pytest.mark.parametrize(
    ("task", "limits", "kind", "words"),
    [
        ("testing.refuse", LIMITS, Refused, ("threads-2d", "NotApplicable", "/body")),
        ("no.such.task", LIMITS, Refused, ("unknown-task", "WarpwrightError", "no.such.task")),
        ("testing.fail", LIMITS, Raised, ("RuntimeError", "an internal check failed: x > 0")),
        ("testing.exit", LIMITS, Crashed, (3, None)),
        ("testing.segfault", LIMITS, Crashed, (None, signal.SIGSEGV)),
        ("testing.burn", SHORT, TimedOut, ("cpu", 1)),
        ("testing.allocate", LIMITS, OutOfMemory, (300 << 20,)),
        ("testing.flood", LIMITS, OutputExceeded, (4 << 20,)),
    ],
)
def test_however_a_task_ends_it_is_an_answer_and_the_next_one_runs(
    runner: TaskRunner, task: str, limits: Limits, kind: type[Reply], words: tuple[object, ...]
) -> None:
    reply = run(runner, task, limits=limits)
    assert type(reply) is kind, reply
    assert told(reply) == words
    assert works(runner)


def test_files_go_in_and_come_out_byte_for_byte(runner: TaskRunner) -> None:
    inputs = {"empty": b"", "bytes.bin": BYTES * 5000}
    answer = runner.run("stand_in.copy", {}, LIMITS, cancel=threading.Event(), output=True, inputs=inputs)
    assert isinstance(answer.reply, Returned), answer.reply
    assert answer.reply.value == {"copied": ["bytes.bin", "empty"]}
    assert answer.files == {f"copies/{name}": data for name, data in inputs.items()}


def test_a_task_without_output_leaves_no_file(runner: TaskRunner) -> None:
    answer = runner.run("stand_in.step", {"seconds": 0.0}, LIMITS, cancel=threading.Event())
    assert isinstance(answer.reply, Returned)
    assert answer.files == {}


def test_what_a_stopped_task_wrote_comes_back(runner: TaskRunner) -> None:
    payload = {"seconds": 3600.0, "early": True, "busy": True}
    answer = runner.run("stand_in.step", payload, SHORT, cancel=threading.Event(), output=True)
    assert isinstance(answer.reply, TimedOut)
    assert answer.files == {"early.txt": b"before\n"}


def test_events_come_in_order_on_the_callers_thread(runner: TaskRunner) -> None:
    seen: list[tuple[int, int]] = []

    def tell(event: dict[str, Any]) -> None:
        seen.append((event["step"], threading.get_ident()))

    answer = runner.run("testing.steps", {"count": 5}, LIMITS, cancel=threading.Event(), on_event=tell)
    assert isinstance(answer.reply, Returned)
    assert answer.reply.value == {"count": 5}
    assert seen == [(step, threading.get_ident()) for step in range(5)]


def test_a_cancelled_task_and_its_processes_are_gone(runner: TaskRunner) -> None:
    cancel = threading.Event()
    pids: list[int] = []

    def begun(event: dict[str, Any]) -> None:
        pids.append(event["hanging"])
        cancel.set()

    answer = runner.run("testing.hang", {}, LIMITS, cancel=cancel, on_event=begun)
    assert answer.reply == Cancelled()
    assert gone(pids[0])
    assert works(runner)


def test_a_task_that_was_cancelled_before_it_began_is_not_run(runner: TaskRunner) -> None:
    cancel = threading.Event()
    cancel.set()
    answer = runner.run("stand_in.step", {"seconds": 0.0, "early": True}, LIMITS, cancel=cancel, output=True)
    assert answer.reply == Cancelled()
    assert answer.files == {}


def test_threads_get_each_their_own_answer(runner: TaskRunner) -> None:
    def ask(number: int) -> object:
        reply = run(runner, "testing.echo", {"number": number})
        return reply.value["payload"]["number"] if isinstance(reply, Returned) else reply

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(ask, range(12))) == list(range(12))


def test_every_task_runner_of_the_settings_is_held_to_this() -> None:
    assert set(RUNNERS) == set(TASK_RUNNERS)


def test_it_says_what_it_takes(runner: TaskRunner) -> None:
    assert runner.available()
    assert runner.offers("frontend")
    assert not runner.offers("measure.no-such-device")
    assert isinstance(runner.compilers("compile.cuda"), str)
