"""Asking a place that may hang, fail, or come back: never an exception, within its patience, one log line that helps."""

import logging
import threading
from collections.abc import Sequence

import pytest

from warpwright.jit import KnownChoice
from warpwright.jit.places import SILENCE_SECONDS, LookupPlace, Silence
from warpwright.solver.domain import HardwareProfile
from warpwright.solver.profiles import load_profile

KNOWN = KnownChoice("default", None, "test")


class Server:
    """A source that hangs, fails or answers as it is told, and counts the questions."""

    def __init__(self, *, hangs: bool = False, error: Exception | None = None) -> None:
        self.hangs, self.error, self.asked, self.tuned = hangs, error, 0, 0
        self.released = threading.Event()

    def find(self, variants: Sequence[str], profile: HardwareProfile) -> KnownChoice | None:
        self.asked += 1
        if self.hangs:
            self.released.wait()
        if self.error is not None:
            raise self.error
        return KNOWN

    def improve(self, name: str, variants: Sequence[str], profile: HardwareProfile) -> None:
        self.tuned += 1
        if self.error is not None:
            raise self.error


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def profile() -> HardwareProfile:
    return load_profile("h200")


def test_a_server_that_hangs_is_left_after_its_patience(
    profile: HardwareProfile, caplog: pytest.LogCaptureFixture
) -> None:
    server = Server(hangs=True)
    place = LookupPlace(server, "server http://farm", patience_seconds=0.05, silence=Silence())
    with caplog.at_level(logging.WARNING, "warpwright.tuned"):
        assert place.find("Layer.make", ["{}"], profile) is None
    server.released.set()
    (record,) = caplog.records
    assert record.getMessage() == (
        "Layer.make: no answer from server http://farm (no answer within 0.05 s); if no other place knows a schedule, "
        "the compiler's default runs, and it will be asked again in 60 s"
    )


def test_a_failed_place_is_asked_again_after_a_while_and_by_no_kernel_before(profile: HardwareProfile) -> None:
    clock, server = Clock(), Server(error=ConnectionError("refused"))
    silence = Silence(clock=clock)
    first, second = (LookupPlace(server, "server http://farm", silence=silence) for _ in range(2))
    assert first.find("a", ["{}"], profile) is None
    server.error = None
    assert second.find("b", ["{}"], profile) is None
    second.improve("b", ["{}"], profile)
    assert (server.asked, server.tuned) == (1, 0)
    assert LookupPlace(server, "server http://other", silence=silence).find("b", ["{}"], profile) is KNOWN
    clock.now += SILENCE_SECONDS
    assert second.find("b", ["{}"], profile) is KNOWN


def test_a_tuning_that_fails_is_a_log_line(profile: HardwareProfile, caplog: pytest.LogCaptureFixture) -> None:
    server = Server(error=ValueError("first line\nsecond line"))
    LookupPlace(server, "server http://farm", silence=Silence()).improve("a", ["{}"], profile)
    assert "a: tuning by server http://farm failed (first line); the compiler's default runs" in caplog.text
