"""A worker's heartbeat with what surrounds it replaced: which queues it takes, and when."""

from types import SimpleNamespace
from typing import Any

import pytest

from warpwright.tuning.measure.devices import FoundDevice
from warpwright.tuning.workers.heartbeat import Heartbeat

DEVICE = FoundDevice({"kind": "simulated", "name": "simulated H200"}, {"name": "simulated H200", "arch": "sm_90"})
QUEUES = ("solve", "measure.h200")


class FakeLedger:
    def __init__(self) -> None:
        self.healthy = True
        self.offers: list[set[str]] = []

    def noted(self, worker: str) -> tuple[int, dict[str, Any] | None, bool]:
        return 3, None, self.healthy

    def offer(self, capabilities: set[str], compilers: dict[str, str]) -> None:
        self.offers.append(set(capabilities))

    def set_healthy(self, worker: str, *, healthy: bool) -> None:
        self.healthy = healthy


class FakeControl:
    def __init__(self) -> None:
        self.said: list[tuple[str, str]] = []

    def cancel_consumer(self, queue: str, destination: list[str]) -> None:
        self.said.append(("cancel", queue))

    def add_consumer(self, queue: str, destination: list[str]) -> None:
        self.said.append(("add", queue))


class FakeApp:
    def __init__(self) -> None:
        self.control = FakeControl()


def heartbeat(ledger: FakeLedger, device: FoundDevice = DEVICE) -> tuple[Heartbeat, FakeControl]:
    app: Any = FakeApp()
    fake: Any = ledger
    made = Heartbeat(app, fake, QUEUES, {"measure.h200": device}, {})
    return made, app.control


def test_a_worker_offers_what_it_takes() -> None:
    ledger = FakeLedger()
    beats, control = heartbeat(ledger)
    beats.beat()
    assert ledger.offers == [set(QUEUES)]
    assert control.said == []


def test_an_ill_device_takes_no_sessions_until_its_canary_is_right(monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = FakeLedger()
    ill = FoundDevice({**DEVICE.options, "canary": "wrong"}, DEVICE.facts)
    beats, control = heartbeat(ledger, ill)
    ledger.healthy = False
    beats.beat()
    assert control.said == [("cancel", "measure.h200")]
    assert ledger.offers == [{"solve"}]
    beats.beat()
    assert control.said == [("cancel", "measure.h200")], "said once"
    ill.options["canary"] = "ok"
    monkeypatch.setattr("warpwright.tuning.workers.heartbeat.REPROBE_SECONDS", 0.0)
    for _ in range(20):
        beats.beat()
        if ledger.healthy:
            break
    assert control.said[1:] == [("add", "measure.h200")]
    assert ledger.offers[-1] == set(QUEUES)


def test_a_worker_that_was_drained_before_it_started_takes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = FakeLedger()
    beats, control = heartbeat(ledger)
    told = iter([True, True, False])
    monkeypatch.setattr(beats, "_report", lambda done, error, healthy: next(told))
    deselected: list[str] = []
    queues = SimpleNamespace(deselect=deselected.append)
    beats.before_work("w1@rack", SimpleNamespace(app=SimpleNamespace(amqp=SimpleNamespace(queues=queues))))
    assert deselected == list(QUEUES)
    beats.beat()
    assert (control.said, ledger.offers) == ([], [])
    beats.beat()
    assert control.said == [("add", "measure.h200"), ("add", "solve")]
    assert ledger.offers == [set(QUEUES)]


def test_a_service_that_is_away_changes_nothing() -> None:
    ledger = FakeLedger()
    app: Any = FakeApp()
    fake: Any = ledger
    beats = Heartbeat(app, fake, QUEUES, {}, {}, service_url="http://127.0.0.1:9")
    beats.beat()
    assert ledger.offers == [set(QUEUES)]
    assert app.control.said == []
