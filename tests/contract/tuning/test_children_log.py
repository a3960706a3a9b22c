"""Log lines of children, and of their children, reach the parent with all that they say."""

import logging
import os
from pathlib import Path

import pytest

from warpwright.tuning.children import ChildPool, Limits, Returned
from warpwright.tuning.children.frames import FrameReader
from warpwright.tuning.children.main import _Lines
from warpwright.tuning.testing.on_runner import SIMULATED


def test_a_childs_child_is_named_with_its_task(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    payload = {"profile": "h200", "budget_seconds": 20.0, "candidates": [], "input": str(tmp_path), "device": SIMULATED}
    with caplog.at_level(logging.INFO, "warpwright"), ChildPool(1) as pool:
        reply = pool.run("measure.session", payload, Limits(wall_seconds=60), trace="a" * 32)
    assert isinstance(reply, Returned)
    ended = [vars(record) for record in caplog.records if record.message == "task-ended"]
    told = {line["task"]: (line["reply"], line["trace"]) for line in ended}
    assert told == {"measure.session": ("Returned", "a" * 32), "measure.device": ("Returned", "a" * 32)}
    assert len({line["child"] for line in ended}) == 2


def test_a_field_that_no_frame_can_carry_is_left_out() -> None:
    reading, writing = os.pipe()
    record = logging.makeLogRecord({"name": "lowering.x", "msg": "seen %d", "args": (3,), "levelno": logging.INFO})
    vars(record).update(seconds=float("nan"), device=object(), count=7, word="right", none=None)
    _Lines(writing).emit(record)
    os.close(writing)
    reader = FrameReader(1 << 20)
    (frame,) = reader.feed(os.read(reading, 1 << 16))
    os.close(reading)
    assert frame["message"] == "seen 3"
    assert frame["fields"] == {"count": 7, "word": "right", "none": None}
