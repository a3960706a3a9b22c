"""What a probe says of a device, and for how long that holds."""

from typing import Any

import pytest

from warpwright.tuning.children import Crashed, Refused, Reply, Returned, TimedOut
from warpwright.tuning.measure import devices as module
from warpwright.tuning.measure.devices import Devices
from warpwright.tuning.testing.on_runner import SIMULATED

FACTS = {"name": "simulated H200", "arch": "sm_90"}


ANSWERED = Returned({"facts": FACTS}, 0.1, "")


@pytest.fixture
def replies(monkeypatch: pytest.MonkeyPatch) -> list[Reply]:
    """What the next probes say, in order."""
    told: list[Reply] = []

    def run_task(*_: Any) -> Reply:
        return told.pop(0)

    monkeypatch.setattr(module, "run_task", run_task)
    return told


@pytest.mark.parametrize("said", [Crashed(None, 9, ""), TimedOut("wall", 60.0, "")])
def test_a_probe_that_says_nothing_of_the_device_is_made_again(replies: list[Reply], said: Reply) -> None:
    """A child that was killed while it looked cost a runner its device for as long as it lived."""
    devices = Devices([SIMULATED])
    replies += [said, ANSWERED]
    assert devices.all() == ()
    assert [device.facts for device in devices.all()] == [FACTS]


@pytest.mark.parametrize("said", [ANSWERED, Refused("device-missing", "none", "", "DeviceMissing")])
def test_an_answer_is_known_for_good(replies: list[Reply], said: Reply) -> None:
    devices = Devices([SIMULATED])
    replies.append(said)
    assert devices.all() == devices.all()
    assert replies == []


def test_one_device_that_answers_late_does_not_hide_the_others(replies: list[Reply]) -> None:
    devices = Devices([SIMULATED, {**SIMULATED, "index": 1}])
    replies += [TimedOut("wall", 60.0, ""), ANSWERED]
    assert [device.options.get("index") for device in devices.all()] == [1]
    replies.append(ANSWERED)
    assert [device.options.get("index") for device in devices.all()] == [None, 1]
