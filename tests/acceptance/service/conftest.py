"""A running service on the stand-in toolchain, per test, on a database of its own."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from service.settings import Settings
from service.testing import StandInToolchain
from service.testing.running import RunningService

Starter = Callable[..., RunningService]


def settings_for(folder: Path, **changes: object) -> Settings:
    values: dict[str, object] = {
        "data": folder,
        "slow_artifact_sync": False,
        "lease_seconds": 2.0,
        "heartbeat_seconds": 0.3,
        "poll_seconds": 0.1,
        **changes,
    }
    return Settings(**values)  # type: ignore[arg-type]  # names and types are the test's own


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Starter]:
    """Starts services; all are stopped at the end. The same folder again is a restart."""
    with ExitStack() as running:

        def starter(toolchain: StandInToolchain | None = None, **changes: object) -> RunningService:
            settings = settings_for(tmp_path, **changes)
            return running.enter_context(RunningService(settings, toolchain=toolchain or StandInToolchain()))

        yield starter


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """One service for all tests that need nothing special; each makes kernels of its own (``new_ir``)."""
    with RunningService(settings_for(tmp_path_factory.mktemp("shared")), toolchain=StandInToolchain()) as running:
        yield running


@pytest.fixture
def client(shared: RunningService) -> httpx.Client:
    return shared.client
