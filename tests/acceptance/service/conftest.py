"""A running service on the stand-in toolchain, per test, on a database of its own."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from service.db import Database
from service.db.migrate import upgrade
from service.settings import Settings
from service.testing import StandInToolchain
from service.testing.postgresql import TemporaryPostgresql
from service.testing.running import RunningService

Starter = Callable[..., RunningService]


def settings_for(folder: Path, **changes: object) -> Settings:
    values: dict[str, object] = {
        "data": folder,
        "slow_artifact_sync": False,
        "lease_seconds": 2.0,
        "heartbeat_seconds": 0.3,
        "poll_seconds": 0.1,
        "build_slots": 1,  # the tests count what was built by a moment
        **changes,
    }
    return Settings(**values)  # type: ignore[arg-type]  # names and types are the test's own


@pytest.fixture(scope="session")
def postgresql() -> Iterator[TemporaryPostgresql]:
    with TemporaryPostgresql() as server:
        yield server


@pytest.fixture(scope="session")
def migrated_template(postgresql: TemporaryPostgresql) -> str:
    """Name of a migrated database that others are copied from."""
    database = Database(postgresql.database())
    upgrade(database)
    database.close()
    return str(database.url.database)


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest) -> str:
    """Empty for SQLite in the data folder; on PostgreSQL a database of the test's own."""
    if request.param == "sqlite":
        return ""
    server: TemporaryPostgresql = request.getfixturevalue("postgresql")
    return server.database(request.getfixturevalue("migrated_template"))


@pytest.fixture
def start(tmp_path: Path, database_url: str) -> Iterator[Starter]:
    """Starts services; all are stopped at the end. Starting a second one is a restart on the same data."""
    with ExitStack() as running:

        def starter(toolchain: StandInToolchain | None = None, **changes: object) -> RunningService:
            settings = settings_for(tmp_path, database_url=database_url, **changes)
            return running.enter_context(RunningService(settings, toolchain=toolchain or StandInToolchain()))

        yield starter


@pytest.fixture(scope="session")
def shared_on_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """One service for all tests that need nothing special; each makes kernels of its own (``new_ir``)."""
    with RunningService(settings_for(tmp_path_factory.mktemp("shared")), toolchain=StandInToolchain()) as running:
        yield running


@pytest.fixture(scope="session")
def shared_on_postgresql(
    tmp_path_factory: pytest.TempPathFactory, postgresql: TemporaryPostgresql, migrated_template: str
) -> Iterator[RunningService]:
    """As above, on PostgreSQL."""
    settings = settings_for(tmp_path_factory.mktemp("shared"), database_url=postgresql.database(migrated_template))
    with RunningService(settings, toolchain=StandInToolchain()) as running:
        yield running


@pytest.fixture(params=["sqlite", "postgresql"])
def client(request: pytest.FixtureRequest) -> httpx.Client:
    running: RunningService = request.getfixturevalue(f"shared_on_{request.param}")
    return running.client
