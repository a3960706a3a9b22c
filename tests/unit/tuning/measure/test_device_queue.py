"""Who comes first at a device, and when a session must begin for all to end in time."""

import math
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from warpwright.tuning.measure.device_queue import DeviceQueue
from warpwright.tuning.measure.lease import DeviceBusy, DeviceLease

HOUR = 3600.0


def test_the_most_urgent_that_is_ready_comes_first(tmp_path: Path) -> None:
    queue, now = DeviceQueue(tmp_path / "q"), time.monotonic()
    with (
        queue.place(now + 3 * HOUR, 1.0, ready=True) as late,
        queue.place(now + HOUR, 1.0, ready=False),
        queue.place(now + 2 * HOUR, 1.0, ready=True) as soon,
    ):
        assert [round(wish.deadline - now) for wish in queue.wanted()] == [HOUR, 2 * HOUR, 3 * HOUR]
        assert (soon.is_first(), late.is_first()) == (True, False)
    assert queue.wanted() == []


def test_a_session_begins_early_enough_for_those_behind_it(tmp_path: Path) -> None:
    queue, now = DeviceQueue(tmp_path / "q"), time.monotonic()
    with (
        queue.place(now + HOUR, 10.0, ready=False) as first,
        queue.place(now + HOUR + 1.0, 10.0, ready=False) as second,
        queue.place(now + HOUR + 2.0, 10.0, ready=False) as third,
    ):
        starts = [place.latest_start() - now for place in (first, second, third)]
        assert starts == pytest.approx([HOUR - 28.0, HOUR - 18.0, HOUR - 8.0], abs=0.01)
        assert queue.room() - now == pytest.approx(HOUR - 28.0, abs=0.01)
    assert queue.room() == math.inf


def test_who_is_late_already_holds_nobody_up(tmp_path: Path) -> None:
    queue = DeviceQueue(tmp_path / "q")
    with queue.place(time.monotonic() - 1.0, 10.0, ready=True):
        assert queue.room() == math.inf


def test_the_place_of_a_process_that_died_is_nobodys(tmp_path: Path) -> None:
    folder = tmp_path / "q"
    script = (
        "import os, pathlib, sys\n"
        "from warpwright.tuning.measure.device_queue import DeviceQueue\n"
        "DeviceQueue(pathlib.Path(sys.argv[1])).place(1.0, 1.0, ready=True).__enter__()\n"
        "os._exit(0)\n"
    )
    subprocess.run([sys.executable, "-c", script, str(folder)], check=True)
    assert len(list(folder.iterdir())) == 1
    assert DeviceQueue(folder).wanted() == []
    assert list(folder.iterdir()) == []


def test_names_that_are_no_place_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "x_y_z_1_2").write_text("")
    (tmp_path / "notes").write_text("")
    assert DeviceQueue(tmp_path).wanted() == []
    assert len(list(tmp_path.iterdir())) == 2


def test_a_lease_goes_to_the_waiter_with_the_least_time(tmp_path: Path) -> None:
    """Not to the one that came first: it still has hours."""
    now, order = time.monotonic(), list[str]()
    waiting = DeviceLease("d", folder=tmp_path).queue

    def wait(name: str, deadline: float) -> None:
        with DeviceLease("d", patience_seconds=60.0, deadline=deadline, folder=tmp_path):
            order.append(name)

    threads = [
        threading.Thread(target=wait, args=("patient", now + 9 * HOUR)),
        threading.Thread(target=wait, args=("urgent", now + HOUR)),
    ]
    with DeviceLease("d", folder=tmp_path):
        for count, thread in enumerate(threads, 1):
            thread.start()
            while len(waiting.wanted()) < count:
                time.sleep(0.01)
    for thread in threads:
        thread.join()
    assert order == ["urgent", "patient"]


def test_without_patience_a_device_that_is_held_is_busy_at_once(tmp_path: Path) -> None:
    with DeviceLease("d", folder=tmp_path):
        with pytest.raises(DeviceBusy, match="another session measures on d"), DeviceLease("d", folder=tmp_path):
            pass
        assert DeviceLease("d", folder=tmp_path).queue.wanted() == []
    with DeviceLease("d", folder=tmp_path):
        pass
