"""Slow requests fill their own pools only: probes, lists and lookups by hash are answered, and what has no place is told when."""

import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests.acceptance.service.conftest import settings_for
from warpwright.service.testing import StandInToolchain, new_ir
from warpwright.service.testing.running import RunningService
from warpwright.solver.domain import HardwareProfile
from warpwright.tuning.toolchain import KernelRead, Patience

PLACES = 2
"""Of each pool: one request runs, one waits."""


class Held(StandInToolchain):
    """Reads nothing until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.go = threading.Event()

    def read(self, ir: str, profile: HardwareProfile, patience: Patience) -> KernelRead:
        assert self.go.wait(120)
        return super().read(ir, profile, patience)


@pytest.fixture
def held() -> Held:
    return Held()


@pytest.fixture
def service(held: Held, tmp_path: Path) -> Iterator[RunningService]:
    settings = settings_for(tmp_path, solve_slots=1, submit_slots=1, max_waiting_requests=PLACES - 1)
    with RunningService(settings, toolchain=held) as running:
        yield running
        held.go.set()


def ask(service: RunningService, path: str) -> httpx.Response:
    return service.client.post(path, json={"ir": new_ir(), "profile": "h200"})


def waiting(service: RunningService, pool: str) -> bool:
    """Whether a pool has no place left, as its metrics say."""
    shown = service.client.get("/metrics").text
    return all(
        f'warpwright_pool_requests{{pool="{pool}",state="{state}"}} 1.0' in shown for state in ("running", "waiting")
    )


def test_probes_and_readers_are_answered_while_slow_requests_wait(service: RunningService, held: Held) -> None:
    paths = {"solve": "/v1/solve", "submit": "/v1/jobs", "lookup": "/v1/results:lookup"}
    with ThreadPoolExecutor(len(paths) * PLACES) as callers:
        slow: list[Future[httpx.Response]] = [
            callers.submit(ask, service, path) for path in paths.values() for _ in range(PLACES)
        ]
        for pool, path in paths.items():
            while not waiting(service, pool):
                assert not any(each.done() for each in slow)
            refused = ask(service, path)
            assert (refused.status_code, refused.json()["code"]) == (429, "pool-full")
            assert 1 <= int(refused.headers["Retry-After"]) <= 60
        for probe in ("/healthz", "/readyz", "/v1/jobs", "/jobs"):
            assert service.client.get(probe).status_code == 200
        by_hash = service.client.post("/v1/results:lookup", json={"ir_hash": "stand-in:1", "profile": "h200"})
        assert by_hash.status_code == 200
        held.go.set()
        assert {each.result().status_code for each in slow} == {200, 202}
    assert ask(service, "/v1/solve").status_code == 200, "the places are free again"


def test_a_full_pool_refuses_before_the_body_is_read(service: RunningService, held: Held) -> None:
    with ThreadPoolExecutor(PLACES) as callers:
        slow = [callers.submit(ask, service, "/v1/solve") for _ in range(PLACES)]
        while not waiting(service, "solve"):
            assert not any(each.done() for each in slow)
        answer = service.client.post(
            "/v1/solve", content=b"this is no JSON", headers={"Content-Type": "application/json"}
        )
        assert answer.json()["code"] == "pool-full"
        held.go.set()
        assert {each.result().status_code for each in slow} == {200}
