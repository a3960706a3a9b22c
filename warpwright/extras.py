"""Whether the needed extras are installed: checked before the work, without importing them."""

import sys
from importlib.util import find_spec

from warpwright.service.settings import Settings
from warpwright.solver.domain.errors import ExtraMissing
from warpwright.solver.domain.extras import EXTRAS, extra_missing

__all__ = ["can_tune", "needs", "needs_modules", "needs_service", "needs_tuning"]


def needs(doing: str, *extras: str, instead: str = "") -> None:
    """Returns if all modules of the extras are installed; ``instead`` names an alternative to installing them.

    Raises:
        ExtraMissing: some are not; the message names all of them, and the command that installs them.
    """
    lacking = {extra: [module for module in EXTRAS[extra] if not _installed(module)] for extra in extras}
    missing = [module for modules in lacking.values() for module in modules]
    if missing:
        raise extra_missing(doing, [extra for extra, modules in lacking.items() if modules], missing, instead)


def needs_modules(doing: str, extra: str, *modules: str) -> None:
    """As :func:`needs`, for something that does with a part of what the extra brings."""
    if missing := [module for module in modules if not _installed(module)]:
        raise extra_missing(doing, [extra], missing)


def needs_service(settings: Settings, doing: str, *, instead: str = "") -> None:
    """As :func:`needs`, for the service with these settings, in this process or as a server."""
    needs(doing, *_service(settings), instead=instead)


def needs_tuning(settings: Settings, doing: str, *, instead: str = "") -> None:
    """As :func:`needs`, for a service that works on its jobs: itself, or by workers as the settings say."""
    needs(doing, *_service(settings), *_tuning(settings), instead=instead)


def can_tune(settings: Settings) -> bool:
    """Whether a service with these settings could work on jobs."""
    try:
        needs_tuning(settings, "tuning")
    except ExtraMissing:
        return False
    return True


def _service(settings: Settings) -> list[str]:
    named = {"postgres": settings.url.startswith("postgresql"), "cluster": settings.task_runner == "celery"}
    return ["serve", *(extra for extra, needed in named.items() if needed)]


def _tuning(settings: Settings) -> list[str]:
    """Nothing if workers do it, or the stand-in of tests."""
    return ["kernels", "solve"] if settings.task_runner == "local" and settings.toolchain == "children" else []


def _installed(module: str) -> bool:
    if module in sys.modules:
        return sys.modules[module] is not None  # its spec says nothing where something else took its place
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):
        return False
