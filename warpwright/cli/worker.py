"""``warpwright worker``: takes tasks that it can do from the queues until it is stopped."""

import os
from collections.abc import Callable

from warpwright.cli.exit_codes import ExitCode
from warpwright.extras import needs
from warpwright.service.settings import Settings
from warpwright.tuning.task_runners.queues import QUEUES

__all__ = ["run_worker_command"]


def run_worker_command(capabilities: str | None, slots: int, name: str, broker: str | None) -> ExitCode:
    """Works until SIGTERM or Ctrl-C.

    Raises:
        UnknownCapability: there is no queue for a capability. DeviceMissing: it names a device that is not present.
        SettingsError: an environment variable does not parse.
        ExtraMissing: without the extra ``cluster``, or the one that a capability needs.
    """
    wanted = [part.strip() for part in capabilities.split(",") if part.strip()] if capabilities else list(QUEUES)
    needs(
        "a worker of these capabilities", "cluster", *sorted({extra for each in wanted for extra in _extras_of(each)})
    )
    from warpwright.cli.foreground import in_the_foreground
    from warpwright.tuning.workers.celery_worker import run_worker

    settings = Settings.from_environment()

    def work(begun: Callable[[], None]) -> ExitCode:
        begun()
        run_worker(
            broker or settings.broker_url,
            wanted,
            slots=slots,
            name=name,
            service_url=settings.service_url,
            token=os.environ.get("WARPWRIGHT_TOKEN", ""),
        )
        return ExitCode.OK

    return in_the_foreground(settings.log_format, f"Warpwright worker for {', '.join(wanted)}", work)


def _extras_of(capability: str) -> tuple[str, ...]:
    """What the tasks of a capability import: a solver, or TileLang; nothing for an unknown capability."""
    if capability == "solve":
        return ("solve",)
    return ("kernels",) if capability in QUEUES or capability.startswith("measure") else ()
