"""Adapters of the task runner port: children on this machine, or Celery workers on others."""

from warpwright.service.settings import Settings
from warpwright.tuning.task_runner import TaskRunner

__all__ = ["make_task_runner"]


def make_task_runner(settings: Settings) -> TaskRunner:
    """The engine that the settings name; nothing of the other one is imported."""
    warm = settings.toolchain == "children"
    if settings.task_runner == "celery":
        from warpwright.tuning.task_runners.celery import CeleryRunner

        return CeleryRunner(settings)
    from warpwright.tuning.task_runners.local import LocalRunner

    return LocalRunner(settings.build_slots, warm=warm)
