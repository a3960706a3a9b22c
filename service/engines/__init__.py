"""Adapters of the task engine port: children on this machine, or Celery workers on others."""

from service.settings import Settings
from service.tuning.engine import TaskEngine

__all__ = ["make_engine"]


def make_engine(settings: Settings) -> TaskEngine:
    """The engine that the settings name; nothing of the other one is imported."""
    warm = settings.toolchain == "children"
    if settings.task_engine == "celery":
        from service.engines.celery import CeleryEngine

        return CeleryEngine(settings)
    from service.engines.local import LocalEngine

    return LocalEngine(settings.build_slots, warm=warm)
