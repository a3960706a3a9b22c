"""The task runner that the settings name, with the service's artifact store; the other one is not imported."""

from typing import TYPE_CHECKING

from warpwright.service.artifacts.service import write
from warpwright.service.artifacts.store import ArtifactStore
from warpwright.service.db import Database
from warpwright.service.errors import Gone, NotFound
from warpwright.service.settings import Settings
from warpwright.solver.domain import digest_bytes
from warpwright.tuning.task_runner import TaskRunner
from warpwright.tuning.task_runners.files import FileMissing

if TYPE_CHECKING:
    from warpwright.tuning.task_runners.celery import CeleryRunner

__all__ = ["celery_runner", "make_task_runner"]


def make_task_runner(settings: Settings, database: Database) -> TaskRunner:
    """The local runner or the Celery runner."""
    if settings.task_runner == "celery":
        return celery_runner(settings, database)
    from warpwright.tuning.task_runners.local import LocalRunner

    return LocalRunner(settings.build_slots, warm=settings.toolchain == "children")


def celery_runner(settings: Settings, database: Database) -> "CeleryRunner":
    """The Celery runner on the settings' broker; its files are the service's artifacts."""
    from warpwright.tuning.task_runners.celery import CeleryRunner

    host = "127.0.0.1" if settings.host in ("0.0.0.0", "::") else settings.host
    store = ArtifactStore(settings.artifacts, sync=settings.slow_artifact_sync)
    service_url = settings.service_url or f"http://{host}:{settings.port}"
    return CeleryRunner(settings.broker_url, _ArtifactFiles(database, store), service_url)


class _ArtifactFiles:
    """The artifacts as runners see them: each with a row, because otherwise workers could not fetch it and a
    collection would remove it.
    """

    def __init__(self, database: Database, store: ArtifactStore) -> None:
        self._database = database
        self._store = store

    def put(self, data: bytes) -> str:
        """Store bytes under their digest."""
        digest = digest_bytes(data)
        write(self._database, self._store, digest, data)
        return digest

    def get(self, digest: str) -> bytes:
        """An artifact's bytes."""
        try:
            return self._store.get(digest)
        except (NotFound, Gone) as error:
            raise FileMissing(error.message) from error
